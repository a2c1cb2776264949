"""00.grow: 64 MiB of anonymous memory at the peak, a tenth more or less, and something returned that holds it."""

from helpers.teach.judging import Attempt, NotYet, Verdict, own_memory, right
from helpers.units import MiB, in_words

WANTED = 64 * MiB


def run(function) -> str:
    """Holds what the function returns for long enough to be seen; the name of its type."""
    import time

    held = function()
    time.sleep(0.25)
    return type(held).__name__


def judge(attempt: Attempt) -> Verdict:
    seen = attempt.run(run, memory_limit=16 * WANTED)
    peak = seen.peak
    if own_memory(seen) is None:
        grown, figures = seen.heap_peak or 0, (f"{in_words(seen.heap_peak, 'bytes')} on the heap",)
        said = "on the heap: anonymous memory is not measured here, so the heap counter stands in"
    else:
        grown, said = peak.anonymous, "of anonymous memory"
        kinds = (("anonymous", peak.anonymous), ("file-backed", peak.file), ("shared", peak.shared))
        figures = tuple(f"{in_words(most, 'bytes')} {kind}" for kind, most in kinds)
    if seen.value == "NoneType":
        raise NotYet("nothing-held", "it returned nothing, so the memory is gone when the function ends.", figures)
    took = f"it took {in_words(grown, 'bytes')} {said}."
    if abs(grown - WANTED) <= 0.1 * WANTED:
        return right(f"I{took[1:]}", figures)
    if grown > WANTED:
        why = (
            "That is more than asked for. How many bytes has each element of what you made? Or is a second copy alive "
            "for a moment?"
        )
        raise NotYet("too-much", f"{took} {why}", figures)
    if (peak.shared or 0) > 0.9 * WANTED:
        why = "The memory is there, but it is shared: the green kind. The orange kind is wanted."
        raise NotYet("shared", f"{took} {why}", figures)
    if (peak.file or 0) > 0.9 * WANTED:
        why = "The memory is there, but it is a file's: the blue kind. The orange kind is wanted."
        raise NotYet("file-backed", f"{took} {why}", figures)
    why = "Memory that nothing was written to may not be there yet: the kernel provides it at the first touch."
    raise NotYet("too-little", f"{took} {why}", figures)
