"""`python -m helpers.show picture.png < run.json`: the picture of a run that `python -m
helpers.measure` has kept.
"""

import json
import sys

from ..measure.recording import Recording
from .curves import curves

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        curves(Recording.from_json(json.load(sys.stdin)), stays=True).save(sys.argv[1])
    except (OSError, ValueError) as error:
        sys.exit(str(error))
