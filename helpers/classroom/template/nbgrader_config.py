# nbgrader's settings for this course. This file is yours: add to it, but keep these lines. They
# hold for the whole course. If nbgrader should grade some assignments by itself, put those into
# another course.
c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "zero-copy"  # its name in nbgrader's exchange

# On its own, nbgrader would run students' code with your rights, and take the scores from what that
# code prints. Here `make grade` judges each answer in a sandbox and writes its score and verdict to
# the gradebook. `nbgrader autograde` then only copies the notebooks to autograded/, where
# formgrader and `nbgrader generate_feedback` look for them.
c.Execute.enabled = False
c.SaveAutoGrades.enabled = False

# Your browser shows HTML in a student's text as text, and doesn't act on it.
c.Autograde.sanitize_preprocessors.append("nbconvert.preprocessors.sanitize.SanitizeHTML")
c.SanitizeHTML.enabled = True

# nbgrader releases each exercise's starter as it is: there is no solution to replace.
c.ClearSolutions.code_stub = {"python": ""}
