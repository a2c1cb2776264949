"""01.yours: exactly the wanted pages are anonymous, every byte reads as in the file, and the file is as it was."""

import mmap
import secrets

from helpers.measure import PageState, maps
from helpers.owners import mapping_under
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import MiB

PAGE = mmap.PAGESIZE
PAGES = 66  # of the file; the last one is not full
MINE = (PageState.ANONYMOUS, PageState.FORKED, PageState.SWAPPED)
SHARED = (
    "Your mapping is shared: a write goes to the file's own page. Ask for a private one: `access=mmap.ACCESS_COPY`."
)


def run(function, path, pages: list[int], content: bytes, look: bool) -> dict:
    """What the function returned, as seen by the process that has it.

    type, mapped, length (bytes; None if it has none), differs (the first byte that is not as in `content`); and
    if `look`: states of its pages, and what may be done to its memory ("rw-p", proc_pid_maps(5)).
    """
    value = function(path, list(pages))
    told = {"type": type(value).__name__, "mapped": mapping_under(value) is not None, "length": None, "states": None}
    try:
        view = memoryview(value).cast("B")
    except (TypeError, ValueError):  # nothing with bytes, or a mapping that is closed
        return told
    if look:
        from helpers.measure.pages import page_map  # here, when the function has done its work

        seen = page_map(value)
        told |= {"states": seen.states.tolist(), "may": seen.region.permissions}
    differs = next((at for at, byte in enumerate(content[: len(view)]) if view[at] != byte), None)
    return told | {"length": len(view), "differs": differs}


def judge(attempt: Attempt) -> Verdict:
    size = (PAGES - 1) * PAGE + 1 + secrets.randbelow(PAGE - 1)
    source = attempt.random_file(size=size)
    # Never page 0, and no two neighbours: so a slip shows what kind of slip it is.
    wanted = [*secrets.SystemRandom().sample(range(2, PAGES - 3, 3), 7), PAGES - 1]
    why_not = maps.why_not()
    try:
        told = attempt.run(run, source, wanted, source.read_bytes(), not why_not, memory_limit=256 * MiB).value
    except NotYet as slip:
        if slip.cause == "source-changed":
            raise NotYet("not-private", f"{slip.because} {SHARED}") from None
        raise
    whole_and_mapped(told, size)
    figures = ()
    if not why_not:
        mine = {page for page, state in enumerate(told["states"]) if state in MINE}
        lent = told["states"].count(PageState.FILE)
        figures = (f"of {PAGES} pages {len(mine)} yours", f"{lent} lent", f"{PAGES - len(mine) - lent} absent")
        exactly_these(mine, set(wanted), told["may"], figures)
    if told["differs"] is not None:
        why = (
            f"byte {told['differs']:,}, in page {told['differs'] // PAGE}, does not read as in the file. Any write "
            "makes a page yours: write the byte that is there already."
        )
        raise NotYet("other-bytes", why, figures)
    if why_not:
        return right(f"Every byte reads as in the file. Whose the pages are is not measured here: {why_not}")
    return right(f"These {len(wanted)} pages are yours, and no other. The file knows nothing of it.", figures)


def whole_and_mapped(told: dict, size: int) -> None:
    """NotYet if it returned anything but the whole file as a mapping."""
    if not told["mapped"]:
        why = "A copy in memory of your own has no lent pages. Map the file, and return the mapping."
        raise NotYet("no-mapping", f"it returned {called(told['type'])}, and nothing in it is mapped. {why}")
    if told["length"] is None:
        raise NotYet("closed", "the mapping that it returned is closed. A `with` closes it at its end.")
    if told["length"] != size:
        raise NotYet("wrong-length", f"expected a mapping of {size:,} bytes, got {told['length']:,}.")


def exactly_these(mine: set[int], wanted: set[int], may: str, figures: tuple[str, ...]) -> None:
    """NotYet says what the slip was, as far as the pages tell, if others than the wanted ones are anonymous."""
    if mine == wanted:
        return
    if not mine and may.endswith("s"):
        raise NotYet("not-private", f"no page is yours. {SHARED}", figures)
    if not mine:
        why = "no page is yours. Reading brings a page, but it's still the page cache's. Only a write makes a copy."
        raise NotYet("only-read", why, figures)
    if mine == {page // PAGE for page in wanted}:
        why = "The index into a mapping counts bytes, not pages: page p begins at byte p × mmap.PAGESIZE."
        raise NotYet("bytes-for-pages", f"page {min(mine)} is yours, and no other. {why}", figures)
    found = "all of them" if len(mine) == PAGES else sorted(mine)
    raise NotYet("other-pages", f"expected pages {sorted(wanted)} to be yours, got {found}.", figures)
