"""Teaching with measurements: predictions, exercises, quizzes, claims.

from helpers.teach import claim, exercise, predict, quiz, recorded
"""

from .claims import Claim, ClaimError, asserted, claim, unasserted
from .exercises import Exercise, exercise
from .judging import Verdict
from .predict import Prediction, predict
from .quizzes import Choice, Quiz, quiz
from .recorded import recorded

__all__ = [
    "Choice",
    "Claim",
    "ClaimError",
    "Exercise",
    "Prediction",
    "Quiz",
    "Verdict",
    "asserted",
    "claim",
    "exercise",
    "predict",
    "quiz",
    "recorded",
    "unasserted",
]
