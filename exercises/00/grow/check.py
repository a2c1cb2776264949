"""00.grow: a peak of 64 MiB of anonymous memory, give or take a tenth, and a return value that
holds it: the memory lasts exactly as long as that value does.
"""

import time

from helpers.teach.judging import Attempt, NotYet, Verdict, own_memory, right
from helpers.units import MiB, in_words

ALONE = True  # it measures time
WANTED = 64 * MiB
WHILE = (
    0.3  # seconds to hold what the function returned, and again without it, while the sampler looks
)


def run(function, seconds: float, sleep=time.sleep, clock=time.monotonic) -> float:
    """Holds what the function returns, and nothing else of the student's, then lets it go. Returns
    when that was.
    """
    import ctypes
    import gc
    import os

    began = clock()
    held = function()
    getattr(function, "__globals__", {}).clear()
    sleep(seconds)
    let_go = clock() - began
    del held
    gc.collect()
    if os.name == "posix" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)  # glibc keeps freed blocks that lie below a block in use, malloc_trim(3)
    sleep(seconds)
    return let_go


def judge(attempt: Attempt) -> Verdict:
    seen = attempt.run(run, WHILE, memory_limit=16 * WANTED)
    peak, told_apart = seen.peak, own_memory(seen) is not None
    if told_apart:
        grown, said = peak.anonymous, "of anonymous memory"
        kinds = (
            ("anonymous", peak.anonymous),
            ("file-backed", peak.file),
            ("shared", peak.shared),
        )
        figures = tuple(f"{in_words(most, 'bytes')} {kind}" for kind, most in kinds)
    else:
        grown, figures = seen.heap_peak or 0, (f"{in_words(seen.heap_peak, 'bytes')} on the heap",)
        said = (
            "on the heap: this machine doesn't measure anonymous memory, so the heap counter "
            "stands in"
        )
    took = f"it took {in_words(grown, 'bytes')} {said}."
    held = [0, *seen.resident[seen.times < seen.value - 0.1 * WHILE]][-1]
    if peak.resident > WANTED / 2 > held:
        why = (
            "The return value doesn't hold it: it was freed when the function returned, or another "
            "name holds it."
        )
        raise NotYet("nothing-held", f"{took} {why}", figures)
    if told_apart and seen.resident[-1] > WANTED / 2:
        why = "It was still there when your return value was gone, so something else holds it."
        raise NotYet("held-elsewhere", f"{took} {why}", figures)
    if (peak.shared or 0) > 0.9 * WANTED:
        why = "The memory that you return is shared: the green kind. You need the orange kind."
        raise NotYet("shared", f"{took} {why}", figures)
    if abs(grown - WANTED) <= 0.1 * WANTED:
        return right(f"I{took[1:]}", figures)
    if grown > WANTED:
        why = (
            "That's more than 64 MiB. How many bytes does each element take? Or does a second copy "
            "exist for a moment?"
        )
        raise NotYet("too-much", f"{took} {why}", figures)
    if (peak.file or 0) > 0.9 * WANTED:
        why = "The memory is there, but it's file-backed: the blue kind. You need the orange kind."
        raise NotYet("file-backed", f"{took} {why}", figures)
    why = "That's less than 64 MiB."
    if grown < WANTED / 16:
        why = (
            "Memory that you haven't written to may not be there yet: the kernel provides it at "
            "the first touch."
        )
    raise NotYet("too-little", f"{took} {why}", figures)
