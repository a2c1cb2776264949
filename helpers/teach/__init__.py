"""Teaching with measurements: predictions, exercises, quizzes, claims; and the student's own copies
of the lessons.

from helpers.teach import claim, exercise, predict, quiz, recorded
from helpers.teach import hand_in, join, progress
"""

from .claims import claim
from .exercises import Exercise, exercise
from .hand_in import hand_in
from .predict import predict
from .progress import progress
from .quizzes import quiz
from .recorded import recorded
from .wall_client import join
