"""On a machine that lacks the meters, the recorded run of a machine that has them, and it says so."""

import os
from dataclasses import replace

from .. import folders
from ..measure import Comparison

KINDS = {"anonymous", "file"}  # without these two the lesson's point cannot be seen


def recorded(name: str, comparison: Comparison) -> Comparison:
    """`comparison`, or where this machine cannot tell the kinds of memory apart, data/recorded/`name`.json.

    One printed line says whose figures are shown. Never an error: without such a file it is the comparison itself.
    With ZERO_COPY_RECORD=1 (`make record`) it is the other way round: the comparison becomes the recorded run.
    """
    path = folders.RECORDED / f"{name}.json"
    if not KINDS & set(comparison.missing):
        if os.environ.get("ZERO_COPY_RECORD") == "1":
            Comparison({method: [replace(run, value=None)] for method, run in comparison.items()}).save(path)
        return comparison
    try:
        found = Comparison.load(path)
    except (OSError, ValueError, KeyError, TypeError):
        print(
            f"Kinds of memory are not measured here, and there is no recorded run {name!r}: some figures are missing."
        )
        return comparison
    print(f"Kinds of memory are not measured here. Recorded figures, made on: {found.machine}")
    return found
