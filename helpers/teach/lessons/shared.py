"""What the exercises and quizzes of several lessons need."""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path

from ... import folders
from ...make import random_file
from ...units import MiB


def fields(text: str) -> dict[str, int]:
    """The lines of a status that hold sizes, in bytes: "kB" means 1,024 bytes there, proc_pid_status(5)."""
    lines = (line.split() for line in text.splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[2:] == ["kB"]}


def is_a_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def on_a_file(answer: Callable[[Path], int | None]) -> Callable[[], int | None]:
    """The answer, found on a small file that is there for as long as it takes."""

    def found() -> int | None:
        with tempfile.TemporaryDirectory(prefix="quiz-", dir=folders.generated()) as folder:
            return answer(random_file(Path(folder) / "quiz.bin", 16 * MiB))

    return found
