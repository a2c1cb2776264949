"""A sweep over chunk sizes: a curve with a lowest point, and a slider that moves along it."""

import math
from collections.abc import Mapping

from ...measure.recording import Recording
from ...show.dial import dial
from ...show.figure import Interactive
from ...units import in_words


def sweep(results: Mapping[int, Recording], caption: str = "") -> Interactive:
    """Time, peak anonymous memory and read calls by chunk size in bytes; the slider begins at the fastest size."""
    named = {in_words(chunk, "bytes"): results[chunk] for chunk in sorted(results)}
    fastest = min(named, key=lambda name: math.inf if named[name].wall is None else named[name].wall)
    return dial("Chunk size", named, ["wall", "anonymous", "read calls"], caption, fastest)
