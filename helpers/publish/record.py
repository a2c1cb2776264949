"""`make record` runs the Rust programs and the lessons, and keeps what they measured as the recorded runs, with a
picture of one for the README.

Run it on a quiet machine that has every meter, and cargo. Look at the pictures before you commit.
"""

import json
import os

from ..folders import RECORDED, generated, lessons
from ..measure import Comparison
from ..measure.machine import here
from ..show import curves
from . import rust
from .execute import executed


def record() -> None:
    machine = here(generated())
    named = f"{machine.system}, {machine.cores} × {machine.cpu}, {machine.file_system}"
    try:
        rust.record(named)
    except rust.NotBuilt as why:
        print(f"The other Rust programs stay as they were recorded: {why}")
    os.environ["ZERO_COPY_RECORD"] = "1"
    for lesson in lessons():
        executed(lesson, again=True)
    three = json.loads((RECORDED / "02-three.json").read_text(encoding="utf-8"))
    curves(Comparison.from_json(three)).save(RECORDED / "02-three.png")
    print(f"Recorded in {RECORDED}:", *sorted(path.name for path in RECORDED.iterdir()))


if __name__ == "__main__":
    record()
