"""A sweep over chunk sizes: a curve with a lowest point, and a slider that moves along it."""

import math
from collections.abc import Mapping

from ...measure.recording import Comparison, Recording
from ...show.dial import dial
from ...show.figure import Interactive
from ...units import in_words, size


def sweep(results: Mapping[int | str, Recording] | Comparison, caption: str = "") -> Interactive:
    """Time, peak anonymous memory and read calls by chunk size; the slider begins at the fastest size.

    `results` has a recording for each chunk size, in bytes or as "64 KiB".
    """
    recordings = dict(sorted((size(chunk), recording) for chunk, recording in results.items()))
    named = {in_words(chunk, "bytes"): recording for chunk, recording in recordings.items()}
    return dial("Chunk size", named, ["wall", "anonymous", "read calls"], caption, fastest(named))


def fastest(recordings: Mapping[str, Recording]) -> str:
    """The name with the least wall time; the first name if time wasn't measured."""
    return min(recordings, key=lambda name: math.inf if recordings[name].wall is None else recordings[name].wall)
