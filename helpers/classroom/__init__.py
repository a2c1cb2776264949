"""The classroom: makes the students' edition, and grades what they hand in. Each answer runs in a
sandbox.

make class                               python -m helpers.classroom.hand_out
make grade FROM=submissions/ OUT=…       python -m helpers.classroom.grade
make forget STUDENT=… OUT=…              python -m helpers.classroom.forget
"""
