"""02.chunks: a copy that equals its source, an unharmed source, and at most 32 MiB of anonymous
memory.
"""

import secrets
from pathlib import Path

from helpers.teach.inside import no_file_above
from helpers.teach.judging import (
    Attempt,
    NotYet,
    Verdict,
    changed,
    first_difference,
    opened,
    own_memory,
    within,
)
from helpers.units import MiB

BUDGET = 32 * MiB  # of 256: a pool of 32 threads, each with a chunk of 1 MiB, takes 12
NOT_FAR = (
    "Every live chunk counts: a loop of `read` holds two at a time, because it makes the new chunk "
    "before it drops the old one, and threads and queues hold more. Take smaller chunks, or reuse "
    "one buffer."
)


def run(function, source, target, returned, most: int) -> None:
    """Has the function copy `source` to `target`, then makes the file `returned`."""
    no_file_above(most)
    function(source, target)
    returned.touch()


def judge(attempt: Attempt) -> Verdict:
    source, target = attempt.random_file(), attempt.folder / "target.bin"
    returned, most = attempt.folder / secrets.token_hex(8), 2 * attempt.size + 64 * MiB
    limit, look = 4 * attempt.size + 64 * MiB, attempt.note_return
    seen = attempt.run(run, source, target, returned, most, memory_limit=limit, look=look)
    with opened(target):  # raises NotYet if there is none, or a link
        pass
    if changed(target) > changed(returned) or attempt.is_late(target):
        why = (
            "`target` was still being written after the function returned. Wait until the copy is "
            "complete."
        )
        raise NotYet("late", why)
    equal(attempt.twin(source), target)
    try:
        return within(seen, BUDGET, "The copy equals its source")
    except NotYet as slip:
        if (own_memory(seen) or 0) > 3 * BUDGET:
            raise
        raise NotYet(slip.cause, f"{slip.because} {NOT_FAR}", slip.figures) from None


def equal(source: Path, target: Path) -> None:
    """Raises NotYet if they differ: says where, and what kind of slip makes such a difference."""
    at, wanted, found = (
        first_difference(source, target),
        source.stat().st_size,
        target.stat().st_size,
    )
    if at is None:
        return
    begin = f"source and copy first differ at byte {at:,}."
    if at == found < wanted:
        why = (
            f"The copy ends there; {wanted - found:,} bytes are missing. One call may move less "
            "than you asked for: keep going until nothing is left."
        )
        raise NotYet("too-short", f"{begin} {why}")
    if at == wanted < found:
        why = (
            f"The source ends there, and the copy has {found - wanted:,} bytes more. The last read "
            "fills only part of the buffer: write only that part."
        )
        raise NotYet("too-long", f"{begin} {why}")
    raise NotYet("other-bytes", f"{begin} The source has {wanted:,} bytes, the copy {found:,}.")
