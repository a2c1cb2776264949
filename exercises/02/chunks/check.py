"""02.chunks: a copy equal to its source, the source unharmed, and at most 8 MiB of anonymous memory."""

from pathlib import Path

from helpers.teach.inside import no_file_above
from helpers.teach.judging import Attempt, NotYet, Verdict, first_difference, within
from helpers.units import MiB

BUDGET = 8 * MiB


def run(function, source, target, most: int) -> None:
    """The function copies `source` to `target`; what it returns does not matter."""
    no_file_above(most)
    function(source, target)


def judge(attempt: Attempt) -> Verdict:
    source = attempt.random_file()
    target = attempt.folder / "target.bin"
    most = 2 * attempt.size + 64 * MiB
    seen = attempt.run(run, source, target, most, memory_limit=4 * attempt.size + 64 * MiB)
    if not target.is_file():
        raise NotYet("no-target", "there is no file at `target`. Open it with `'wb'` and write to it.")
    if target.samefile(source):
        raise NotYet("link", "`target` is the source by another name (a link), not a copy.")
    equal(attempt.twin(source), target)
    return within(seen, BUDGET, "The copy equals its source")


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
