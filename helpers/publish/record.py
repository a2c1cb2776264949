"""`make record` runs the lessons and the Rust programs, and keeps what they measured as the recorded runs, with a
picture of one for the README.

Run it on a quiet machine that has every meter, and rustc; ZERO_COPY_CRATES says where cargo finds crates
(helpers/measure/crates.py). Look at the pictures before you commit.
"""

import os

from ..folders import RECORDED, generated, lessons
from ..measure import Comparison, crates, here, twins
from ..show import curves
from . import rust_copies
from .execute import executed


def record() -> None:
    machine = here(generated())
    named = f"{machine.system}, {machine.cores} × {machine.cpu}, {machine.file_system}"
    twins.record(named)
    try:
        crates.record(named)
        rust_copies.record(named)
    except twins.NoRust as why:
        print(f"The programs with crates stay as they were recorded: {why}.")
    os.environ["ZERO_COPY_RECORD"] = "1"
    for lesson in lessons():
        executed(lesson, again=True)
    curves(Comparison.load(RECORDED / "02-three.json")).save(RECORDED / "02-three.png")
    print(f"Recorded in {RECORDED}:", *sorted(path.name for path in RECORDED.iterdir()))


if __name__ == "__main__":
    record()
