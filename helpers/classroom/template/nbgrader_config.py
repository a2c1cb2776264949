# nbgrader's settings for this course. The file was written once and is yours: add to it, but keep these lines.
# They hold for the whole course: put assignments that nbgrader is to grade by itself into another course.
c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "zero-copy"  # its name in nbgrader's exchange

# nbgrader would run what students hand in with your rights, and take scores from what that prints. Here `make grade`
# judges each answer in a sandbox and puts score and verdict into the gradebook. `nbgrader autograde` then only copies
# what was handed in to autograded/, where formgrader and `nbgrader generate_feedback` look for it.
c.Execute.enabled = False
c.SaveAutoGrades.enabled = False

# HTML in a student's text is shown as text, and not obeyed by your browser.
c.Autograde.sanitize_preprocessors.append("nbconvert.preprocessors.sanitize.SanitizeHTML")
c.SanitizeHTML.enabled = True

# Each exercise's starter is released as it stands: nothing is put in the place of a solution, for there is none.
c.ClearSolutions.code_stub = {"python": ""}
