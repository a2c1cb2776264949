"""01.yours: exactly the wanted pages are anonymous, every byte reads as in the file, and the file
hasn't changed.

Your own pages keep their bytes when somebody writes to the file; lent pages show the new bytes.
POSIX leaves that open, so it's tested only where the kernel tells what each page is.
"""

import mmap
import secrets

from helpers.measure import PageState, maps
from helpers.owners import mapping_under
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import MiB

PAGE = mmap.PAGESIZE
PAGES = 66  # of the file; the last page is not full
MINE = (PageState.ANONYMOUS, PageState.FORKED, PageState.SWAPPED)
SHARED = (
    "Your mapping is shared: a write goes to the file's own page. Ask for a private mapping: "
    "`access=mmap.ACCESS_COPY`."
)


def run(
    function, path: str, pages: list[int], at: int, look: bool, open=open, memoryview=memoryview
) -> dict:
    """What the function returned, as its own process sees it.

    type, mapped, closed, length (None if it shows no bytes), bytes (if it has as many as the file).
    If `look`: also the states of its pages, the permissions of its memory ("rw-p",
    proc_pid_maps(5)), and its bytes `after` byte `at` of every page of the file was changed; then
    the file is restored.
    """
    import os
    from pathlib import Path

    size = os.path.getsize(path)
    value = function(Path(path), list(pages))
    told = {
        "type": type(value).__name__,
        "mapped": mapping_under(value) is not None,
        "closed": False,
        "length": None,
    }
    try:
        view = memoryview(value).cast("B")
    except (TypeError, ValueError) as error:  # it has no bytes, or it is a closed mapping
        return told | {"closed": isinstance(error, ValueError)}
    told["length"] = len(view)
    if not os.path.isfile(path) or len(view) != size:
        return told
    if look:
        from helpers.measure.pages import page_map  # imported late, when the function is done

        seen = page_map(value)
        told |= {"states": seen.states.tolist(), "may": seen.region.permissions}
        told["mapped"] = seen.region.kind in ("file", "shared memory")
    told["bytes"] = view.tobytes()
    if look:
        with open(path, "r+b", buffering=0) as file:
            was = file.read()
            file.seek(0)
            file.write(changed(was, at))
            told["after"] = view.tobytes()
            file.seek(0)
            file.write(was)
    return told


def changed(data: bytes, at: int) -> bytes:
    """`data` with another byte at `at` in every page."""
    other = bytearray(data)
    other[at::PAGE] = bytes(byte ^ 255 for byte in data[at::PAGE])
    return bytes(other)


def judge(attempt: Attempt) -> Verdict:
    last = 1 + secrets.randbelow(PAGE - 1)  # bytes in the last page
    data = secrets.token_bytes((PAGES - 1) * PAGE + last)
    path = attempt.folder / "source.bin"
    path.write_bytes(data)
    attempt.hand_out(path)
    # Never page 0, and no two neighbours, so that each slip shows what it is.
    wanted = [*secrets.SystemRandom().sample(range(2, PAGES - 3, 3), 7), PAGES - 1]
    at, why_not = secrets.randbelow(last), maps.why_not()
    try:
        told = attempt.run(run, str(path), wanted, at, not why_not, memory_limit=256 * MiB).value
    except NotYet as slip:
        if slip.cause != "source-changed":
            raise
        raise NotYet("not-private", f"the file was changed. {SHARED}") from None
    whole_and_mapped(told, len(data))
    figures = ()
    if not why_not:
        mine = {page for page, state in enumerate(told["states"]) if state in MINE}
        lent = told["states"].count(PageState.FILE)
        figures = (
            f"{len(mine)} of {PAGES} pages yours",
            f"{lent} lent",
            f"{PAGES - len(mine) - lent} absent",
        )
        exactly_these(mine, set(wanted), figures, told["may"], lent)
        kept = {
            page
            for page in range(PAGES)
            if told["after"][page * PAGE + at] == told["bytes"][page * PAGE + at]
        }
        exactly_these(kept, set(wanted), figures)
    if told["bytes"] != data:
        differs = next(at for at, byte in enumerate(told["bytes"]) if byte != data[at])
        why = (
            f"byte {differs:,}, in page {differs // PAGE}, doesn't read as in the file. Any write "
            "makes a page yours: write the byte that's already there."
        )
        raise NotYet("other-bytes", why, figures)
    if why_not:
        return right(
            "Every byte reads as in the file. This machine can't tell whose the pages are: "
            f"{why_not}"
        )
    return right(
        f"These {len(wanted)} pages are yours, and no others. The file hasn't changed.", figures
    )


def whole_and_mapped(told: dict, size: int) -> None:
    """Raises NotYet if it returned anything but a mapping of the whole file."""
    if told["closed"]:
        raise NotYet("closed", "it returned a closed mapping. A `with` block closes it at the end.")
    if not told["mapped"]:
        why = (
            "which isn't mapped. A copy in your own memory has no lent pages. Map the file, and "
            "return the mapping."
        )
        raise NotYet("no-mapping", f"it returned {called(told['type'])}, {why}")
    if told["length"] != size:
        raise NotYet(
            "wrong-length", f"expected a mapping of {size:,} bytes, got {told['length'] or 0:,}."
        )


def exactly_these(
    mine: set[int], wanted: set[int], figures: tuple[str, ...], may: str = "", lent: int = PAGES
) -> None:
    """Raises NotYet if other pages than the wanted ones are anonymous; names the slip if the pages
    give it away.
    """
    if mine == wanted:
        return
    if not mine and may.endswith("s"):
        raise NotYet("not-private", f"no page is yours. {SHARED}", figures)
    if not mine and not lent:
        why = (
            "nothing was read or written. numpy leaves out `a[i:j] = a[i:j]`: it's the same "
            "memory. Write one byte."
        )
        raise NotYet("untouched", f"no page is yours, and none is lent: {why}", figures)
    if not mine:
        why = (
            "no page is yours. Reading brings a page in, but it's still the page cache's. Only a "
            "write makes a copy."
        )
        raise NotYet("only-read", why, figures)
    if mine == {page // PAGE for page in wanted}:
        why = (
            "An index into a mapping counts bytes, not pages: page p begins at byte p × "
            "mmap.PAGESIZE."
        )
        raise NotYet("bytes-for-pages", f"only page {min(mine)} is yours. {why}", figures)
    found = "all of them" if len(mine) == PAGES else sorted(mine)
    raise NotYet(
        "other-pages", f"expected pages {sorted(wanted)} to be yours, got {found}.", figures
    )
