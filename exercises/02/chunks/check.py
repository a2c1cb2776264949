"""02.chunks: a copy equal to its source, the source unharmed, and at most 8 MiB of anonymous memory."""

import secrets
from pathlib import Path

from helpers.teach.inside import no_file_above
from helpers.teach.judging import Attempt, NotYet, Verdict, first_difference, opened, own_memory, within
from helpers.units import MiB

BUDGET = 8 * MiB
NOT_FAR = (
    "Each chunk counts for as long as it is there: a loop of `read` has two at a time, for the new one is made before "
    "the old one goes, and threads and queues have more of them. Take smaller chunks, or one buffer."
)


def run(function, source, target, returned, most: int) -> None:
    """The function copies `source` to `target`; then there is a file `returned`."""
    no_file_above(most)
    function(source, target)
    returned.touch()


def judge(attempt: Attempt) -> Verdict:
    source, target = attempt.random_file(), attempt.folder / "target.bin"
    returned, most = attempt.folder / secrets.token_hex(8), 2 * attempt.size + 64 * MiB
    seen = attempt.run(run, source, target, returned, most, memory_limit=4 * attempt.size + 64 * MiB)
    opened(target).close()  # says so if there is none, or a link
    if changed(target) > changed(returned):
        why = "`target` was still being written when the function had returned. Wait until the copy is whole."
        raise NotYet("late", why)
    equal(attempt.twin(source), target)
    try:
        return within(seen, BUDGET, "The copy equals its source")
    except NotYet as slip:
        if (own_memory(seen) or 0) > 3 * BUDGET:
            raise
        raise NotYet(slip.cause, f"{slip.because} {NOT_FAR}", slip.figures) from None


def changed(file: Path) -> int:
    """When it was changed last: the time that nobody can set, inode(7), or on Windows, which has none, the other."""
    return max(file.stat().st_ctime_ns, file.stat().st_mtime_ns)


def equal(source: Path, target: Path) -> None:
    """NotYet says where they differ, and what kind of slip makes such a difference."""
    at, wanted, found = first_difference(source, target), source.stat().st_size, target.stat().st_size
    if at is None:
        return
    begin = f"source and copy differ from byte {at:,} on."
    if at == found < wanted:
        why = (
            f"There the copy ends; {wanted - found:,} bytes are missing. One call may move less than you asked for: "
            "go on until nothing is left."
        )
        raise NotYet("too-short", f"{begin} {why}")
    if at == wanted < found:
        why = (
            f"There the source ends, and the copy has {found - wanted:,} bytes more. The last read fills only a part "
            "of the buffer: write only that part."
        )
        raise NotYet("too-long", f"{begin} {why}")
    raise NotYet("other-bytes", f"{begin} The source has {wanted:,} bytes, the copy {found:,}.")
