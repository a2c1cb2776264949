"""`python -m helpers.publish` runs the lessons that have changed, and writes build/handouts/."""

import gc
import sys

from tqdm.auto import tqdm

from ..teach import exercise
from . import HandoutError, LessonFailed, executed, handouts, lessons
from .handouts import OWN_CODE


def main() -> None:
    gc.set_threshold(100_000)  # a page is a tree of many small objects, and hardly any of them is garbage
    bar = tqdm(lessons(), desc="running the lessons", unit="lesson")
    try:
        pages = handouts([executed(lesson) for lesson in bar], own_code=executed(OWN_CODE), exercise=exercise)
    except (LessonFailed, HandoutError) as error:
        bar.close()
        sys.exit(f"The handouts were not written.\n{error}")
    print(f"{len(pages)} pages from {len(bar)} lessons, each in one file. Begin at:")
    print(*(f"  {page}" for page in pages if page.name == "index.html"), sep="\n")


if __name__ == "__main__":
    main()
