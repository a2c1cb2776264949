"""`make record`: run the lessons and keep what they measured as the recorded runs, and the README's picture of one.

On a quiet machine that has every meter. Look at the pictures before you commit.
"""

import os

from ..folders import RECORDED
from ..measure import Comparison
from ..show import curves
from .execute import executed, lessons


def record() -> None:
    os.environ["ZERO_COPY_RECORD"] = "1"
    for lesson in lessons():
        executed(lesson, again=True)
    curves(Comparison.load(RECORDED / "02-three.json")).save(RECORDED / "02-three.png")
    print(f"recorded in {RECORDED}:", *sorted(path.name for path in RECORDED.iterdir()))


if __name__ == "__main__":
    record()
