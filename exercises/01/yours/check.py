"""01.yours: exactly the wanted pages are anonymous, every byte reads as in the file, and the file is as it was."""

import mmap
import secrets
import shutil
from pathlib import Path

from helpers.make import random_file
from helpers.measure import PageState, maps
from helpers.teach.judging import Attempt, NotYet, Verdict, first_difference, right, unharmed
from helpers.units import MiB

PAGE = mmap.PAGESIZE
PAGES = 66  # of the file; the last one is not full
MINE = (PageState.ANONYMOUS, PageState.FORKED, PageState.SWAPPED)


def run(function, path, pages: list[int], twin, look: bool) -> dict:
    """What the function returned, as seen by the process that has it.

    type, length (bytes; None if it has none), differs (the first byte that is not as in the file `twin`); and if
    `look`: states of its pages, the kind of memory they lie in, what may be done to it ("rw-p", proc_pid_maps(5)).
    """
    value = function(path, list(pages))
    told = {"type": type(value).__name__, "length": None, "differs": None, "states": None, "memory": "", "may": ""}
    try:
        view = memoryview(value).cast("B")
    except (TypeError, ValueError):  # nothing with bytes, or a mapping that is closed
        return told
    told["length"] = len(view)
    if look:
        from helpers.measure.pages import page_map  # here, when the function has done its work

        seen = page_map(value)
        told |= {"states": seen.states.tolist(), "memory": seen.region.kind, "may": seen.region.permissions}
    with open(twin, "rb") as file:
        wanted = file.read(len(view))
    told["differs"] = next((at for at, byte in enumerate(wanted) if view[at] != byte), None)
    return told


def judge(attempt: Attempt) -> Verdict:
    size = (PAGES - 1) * PAGE + 1 + secrets.randbelow(PAGE - 1)
    source = random_file(attempt.folder / "source.bin", size, seed=secrets.randbelow(2**32))
    twin = Path(shutil.copyfile(source, attempt.folder / "twin.bin"))
    # Never page 0, and no two neighbours: so a slip shows what kind of slip it is.
    wanted = [*secrets.SystemRandom().sample(range(2, PAGES - 3, 3), 7), PAGES - 1]
    why_not = maps.why_not()
    told = attempt.run(run, source, wanted, twin, not why_not, memory_limit=256 * MiB).value
    if source.is_file() and (at := first_difference(source, twin)) is not None:
        why = (
            f"the file was changed, from byte {at:,} on. Your mapping is shared: what you write to it is written to "
            "the file. A private one makes a copy first: `access=mmap.ACCESS_COPY`."
        )
        raise NotYet("source-changed", why)
    unharmed(source, twin)
    whole_and_mapped(told, size)
    states, figures = told["states"], ()
    if states:
        mine, lent = sum(state in MINE for state in states), states.count(PageState.FILE)
        figures = (f"of {len(states)} pages {mine} yours", f"{lent} lent", f"{len(states) - mine - lent} absent")
        exactly_these(states, set(wanted), told["may"], figures)
    if told["differs"] is not None:
        why = (
            f"byte {told['differs']:,}, in page {told['differs'] // PAGE}, does not read as in the file. Any write "
            "makes a page yours: write the byte that is there already."
        )
        raise NotYet("other-bytes", why, figures)
    if states is None:
        return right(f"Every byte reads as in the file. Whose the pages are is not measured here: {why_not}")
    return right(f"These {mine} pages are yours, and no other. The file knows nothing of it.", figures)


def whole_and_mapped(told: dict, size: int) -> None:
    """NotYet if it returned anything but the whole file as a mapping."""
    kind, length = told["type"], told["length"]
    if kind == "NoneType":
        raise NotYet("no-mapping", "it returned nothing, so the mapping is gone. `return` it.")
    if kind in ("bytes", "bytearray", "list") or told["memory"] in ("anonymous", "heap"):
        why = (
            f"it returned `{kind}`, and nothing is mapped. That is a copy of the file in memory of your own: all its "
            "pages are anonymous, and none is lent. Return the mapping."
        )
        raise NotYet("no-mapping", why)
    if length is None and kind == "mmap":
        raise NotYet("closed", "the mapping that it returned is closed. The `with` closed it: return one that is open.")
    if length is None:
        raise NotYet("no-mapping", f"it returned `{kind}`, which has no pages. Return the mapping.")
    if length != size:
        raise NotYet("wrong-length", f"the mapping has {length:,} bytes, the file {size:,}. Map the whole file.")


def exactly_these(states: list[int], wanted: set[int], may: str, figures: tuple[str, ...]) -> None:
    """NotYet says what the slip was, as far as the pages tell, if others than the wanted ones are anonymous."""
    mine = {page for page, state in enumerate(states) if state in MINE}
    if mine == wanted:
        return
    if not mine and may.endswith("s"):
        why = (
            "no page is yours. Your mapping isn't private: a write changes the file's own page, or isn't allowed at "
            "all, and no copy is made. Ask for a private one: `access=mmap.ACCESS_COPY`."
        )
        raise NotYet("not-private", why, figures)
    if not mine:
        why = "no page is yours. Reading brings a page, but it's still the page cache's. Only a write makes a copy."
        raise NotYet("only-read", why, figures)
    if mine == {number // PAGE for number in wanted}:
        why = (
            f"page {min(mine)} is yours, and no other. The index into a mapping counts bytes, not pages: page p begins "
            "at byte p × mmap.PAGESIZE."
        )
        raise NotYet("bytes-for-pages", why, figures)
    found, asked = (", ".join(map(str, sorted(pages))) for pages in (mine, wanted))
    found = "all pages" if len(mine) == len(states) else f"pages {found}"
    why = f"it made {found} yours, and was asked for {asked}. The first page is number 0, and each write copies a page."
    raise NotYet("other-pages", why, figures)
