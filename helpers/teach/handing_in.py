"""`python -m helpers.teach.handing_in 02`, or `make hand-in LESSON=02`: one file to hand in,
without a kernel.
"""

import argparse
import sys
from collections.abc import Sequence

from .hand_in import hand_in


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.teach.handing_in", description="One file to hand in."
    )
    parser.add_argument("lesson", help="its number, such as 02; save the notebook first")
    parser.add_argument(
        "--name", default="", help="your name, for the file's name; by default your user name"
    )
    parser.add_argument(
        "--file", default="", help="the notebook; by default your copy with an answer, saved last"
    )
    options = parser.parse_args(arguments)
    # a name may hold what the terminal's encoding can't show
    sys.stdout.reconfigure(errors="replace")
    try:
        print(hand_in(options.lesson, options.name, options.file))
    except (OSError, ValueError) as error:
        sys.exit(str(error) if options.lesson else "Say which lesson: make hand-in LESSON=02")


if __name__ == "__main__":
    main()
