"""The classroom: an edition for students, and what they hand in, graded: each answer in a sandbox, judged outside.

make class                               python -m helpers.classroom.hand_out
make grade FROM=submissions/ OUT=…       python -m helpers.classroom.grade
make forget STUDENT=… OUT=…              python -m helpers.classroom.forget
"""
