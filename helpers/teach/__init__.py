"""Teaching with measurements: predictions, exercises, quizzes, claims.

from helpers.teach import claim, exercise, predict, quiz, recorded
"""

from .claims import claim
from .exercises import Exercise, exercise
from .predict import predict
from .quizzes import quiz
from .recorded import recorded

__all__ = ["Exercise", "claim", "exercise", "predict", "quiz", "recorded"]
