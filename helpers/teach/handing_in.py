"""`python -m helpers.teach.handing_in 02`, or `make hand-in LESSON=02`: one file to hand in, without a kernel."""

import argparse
import sys
from collections.abc import Sequence

from .hand_in import hand_in


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns 1 where there is nothing that can be handed in."""
    parser = argparse.ArgumentParser(prog="python -m helpers.teach.handing_in", description="One file to hand in.")
    parser.add_argument("lesson", help="its number, such as 02; save the notebook first")
    parser.add_argument("--name", default="", help="yours, for the file's name; the name of your user if not given")
    options = parser.parse_args(arguments)
    try:
        print(hand_in(options.lesson, options.name))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
