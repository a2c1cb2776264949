"""`python -m helpers.publish` runs the lessons that have changed, and writes build/handouts/."""

import gc
import sys
from pathlib import Path

from tqdm.auto import tqdm

from ..teach import exercise
from . import HandoutError, LessonFailed, executed, handouts, lessons
from .handouts import OWN_CODE


def main() -> None:
    # a page is a tree of many small objects, and hardly any of them is garbage
    gc.set_threshold(100_000)
    bar = tqdm(lessons(), desc="running the lessons", unit="lesson")
    try:
        pages = handouts([ran(lesson) for lesson in bar], own_code=ran(OWN_CODE), exercise=exercise)
    except (LessonFailed, HandoutError) as error:
        bar.close()
        sys.exit(f"The handouts were not written.\n{error}")
    print(f"{len(pages)} pages from {len(bar)} lessons, each in one file. Begin at:")
    print(*(f"  {page}" for page in pages if page.name == "index.html"), sep="\n")


def ran(lesson: Path) -> Path:
    """The executed lesson. If it fails, it runs a second time: what it measures may differ on a
    busy machine.
    """
    try:
        return executed(lesson)
    except LessonFailed as error:
        tqdm.write(f"{error}\nOnce more, in case the machine was busy.", file=sys.stderr)
        return executed(lesson)


if __name__ == "__main__":
    main()
