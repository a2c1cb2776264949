"""`python -m helpers.show run.json -o picture.png`: the picture of a run that `python -m helpers.measure` has kept."""

import argparse
import json
from pathlib import Path

from ..measure.recording import Recording
from .curves import curves


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}", description="Draws a run that was kept as JSON.")
    parser.add_argument("run", type=Path, help="what `python -m helpers.measure --json` wrote")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the picture, .png or .svg")
    options = parser.parse_args()
    try:
        run = Recording.from_json(json.loads(options.run.read_text(encoding="utf-8")))
        curves(run, stays=True).save(options.output)
    except (OSError, ValueError) as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
