"""Publish the lessons: run each of them once, and turn it into handouts for students and
instructors, and worksheets. `python -m helpers.publish` makes the handouts; `python -m
helpers.publish.tidy` brings notebooks into stored form.
"""

from ..folders import lessons
from .execute import LessonFailed, executed
from .handouts import handouts
from .lesson import HandoutError
