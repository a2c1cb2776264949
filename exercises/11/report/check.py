"""11.report: bytes held by old versions, and the word, for nine services of four workers each."""

import secrets
import sys
import tomllib
from pathlib import Path

from helpers.measure import maps, measure
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, right_for_each
from helpers.units import KiB, in_words

PAGE, CURRENT = 4 * KiB, 4
KINDS = {  # a service whose workers …
    "fine": "all map the current version only",
    "others": "map the current version, and other files whose names are gone",
    "idle": "map the current version, but for two that map the one before",
    "old and older": "map four versions, each worker a different one",
    "same": "all map the first version only",
    "pieces": "map the current version, but for one that maps the first, in pieces and twice",
    "kept": "map the current version, and one of them all the others too",
    "all keep": "all map the current version, and the first too",
    "mixed": (
        "map the current version, except for one that maps only the third; another maps the first "
        "as well"
    ),
}
MAPPED = {  # the versions that each worker maps; + in pieces and twice too, * and other files
    "fine": ("4", "4", "4", "4"),
    "others": ("4*", "4*", "4*", "4*"),
    "idle": ("3", "4", "4*", "3"),
    "old and older": ("3", "2", "1", "4"),
    "same": ("1*", "1", "1", "1"),
    "pieces": ("4", "1+", "4", "4"),
    "kept": ("4", "4", "1234", "4"),
    "all keep": ("14", "14", "41", "14*"),
    "mixed": ("14", "4", "3", "4"),
}
# all else is "idle"
WORDS = {"fine": "fine", "others": "fine", "kept": "kept", "all keep": "kept", "mixed": "kept"}
# what a wrong number comes from there
OTHERWISE = {"others": "other-files", "pieces": "part-of-a-file"}
SLIPS = {
    "each-worker": (
        "You counted a file once for each worker that maps it, but its blocks lie on the disk once."
    ),
    "one-for-each-name": (
        "There's more than one old version, and all have the same path. The inode tells them apart."
    ),
    "current-counted": (
        "You counted the current version too. It still has its name, so it isn't an old version."
    ),
    "other-files": (
        "You counted a file that isn't in this folder. `/memfd:…` is no file on a disk at all, and "
        "the name of another folder may begin like this one's."
    ),
    "part-of-a-file": (
        "One file is mapped in pieces, and one piece twice. Whoever maps a file here maps all of "
        "it: how far does the piece reach that reaches furthest?"
    ),
    "wrong-bytes": "Add up the old versions, each once.",
}


def judge(attempt: Attempt) -> Verdict:
    """Asks about workers started for this check, or recorded workers where those can't be read."""
    live, folder = (
        sys.platform == "linux" and not maps.why_not(),
        attempt.folder.resolve() / secrets.token_hex(4),
    )
    if live:
        sizes = [PAGE * pages for pages in secrets.SystemRandom().sample(range(20, 60), CURRENT)]
        texts = crowds(folder, sizes)
    else:
        kept = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text(encoding="utf-8"))
        folder, sizes, texts = kept["folder"], kept["sizes"], kept["maps"]
    cases = {kind: (str(folder), texts[kind]) for kind in KINDS}
    expected = {
        kind: (
            held(kind, sizes),
            WORDS.get(kind, "idle"),
            slips(kind, sizes),
            OTHERWISE.get(kind, "wrong-bytes"),
        )
        for kind in KINDS
    }
    where = (
        "that were running a moment ago"
        if live
        else "recorded on another machine: they can't be read here"
    )
    figures = tuple(f"{kind}: {in_words(expected[kind][0], 'bytes')} held" for kind in KINDS)
    done = f"You read the mappings of {4 * len(KINDS)} workers {where}."
    return right_for_each(
        attempt, cases, misread, "a service whose workers", KINDS, done, figures, expected
    )


def held(kind: str, sizes: list[int]) -> int:
    """Bytes of the old versions that some worker of such a service maps."""
    return sum(sizes[int(version) - 1] for version in set("".join(MAPPED[kind])) & set("123"))


def slips(kind: str, sizes: list[int]) -> dict[int, str]:
    """The causes of wrong numbers of bytes, by number."""
    old = [
        [sizes[int(version) - 1] for version in worker if version in "123"]
        for worker in MAPPED[kind]
    ]
    told = {
        held(kind, sizes) + sizes[CURRENT - 1]: "current-counted",
        sum(map(sum, old)): "each-worker",
    }
    return told | {max((size for worker in old for size in worker), default=0): "one-for-each-name"}


def misread(given: object, expected: tuple, *case: object) -> None:
    """Raises NotYet for a wrong answer, and names the slip if the number gives it away."""
    (wanted, word, told, otherwise), words = expected, ("kept", "idle", "fine")
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        raise NotYet(
            "other-type", f"it returned {given}. Return two things: bytes, and one of {words}."
        )
    if given[0] != wanted:
        cause = told.get(given[0], otherwise)
        why = f"expected {wanted:,} bytes, got {given[0]:,}. {SLIPS[cause]}"
        raise NotYet(cause, why, half="the words" if given[1] == word else "")
    if given[1] != word:
        why = f"the bytes are right, but the word {given[1]!r} isn't. Look at each worker alone."
        raise NotYet("wrong-word", why, half="the bytes")


def crowds(folder: Path, sizes: list[int]) -> dict[str, list[str]]:
    """The mappings of four workers of each kind. Raises OSError if they failed."""
    run = measure(crowd, str(folder), sizes, MAPPED, name="the workers to be explained")
    if run.ended != "returned":
        raise OSError(f"the workers to be explained did not run: {run.ending}")
    return run.value


def crowd(
    folder: str, sizes: list[int], mapped: dict[str, tuple[str, ...]]
) -> dict[str, list[str]]:
    """Publishes a version of each size at `folder`/digits, by renaming, while it has all of them
    open. Returns what a fork of this process for each worker has in /proc/self/maps of these files,
    and of others whose names are gone.
    """
    import mmap
    import os
    import re

    def made(name, size):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(f"{name}.new", "wb") as file:
            file.write(bytes(size))
        os.rename(f"{name}.new", name)
        return os.open(name, os.O_RDONLY)

    files = {str(number): made(f"{folder}/digits", size) for number, size in enumerate(sizes, 1)}
    other, board = made(f"{folder}-old/digits", sizes[0]), os.memfd_create("board")
    os.unlink(f"{folder}-old/digits")
    os.ftruncate(board, mmap.PAGESIZE)

    def worker(versions, into):
        kept = []
        for version in versions:
            if version == "*":
                kept += [mmap.mmap(file, 0, access=mmap.ACCESS_READ) for file in (other, board)]
            elif version == "+":
                # so it's in pieces
                kept[0].madvise(mmap.MADV_DONTFORK, 8 * mmap.PAGESIZE, mmap.PAGESIZE)
                kept.append(
                    mmap.mmap(files[versions[0]], 4 * mmap.PAGESIZE, access=mmap.ACCESS_READ)
                )
            else:
                kept.append(mmap.mmap(files[version], 0, access=mmap.ACCESS_READ))
        with open("/proc/self/maps") as lines, os.fdopen(into, "w") as told:
            told.writelines(
                line for line in lines if re.search(rf"{folder}|memfd|\[heap\]|00:00 0 *$", line)
            )

    def seen(versions):
        out, into = os.pipe()
        if not os.fork():
            try:
                os.close(out)
                worker(versions, into)
            finally:
                os._exit(0)
        os.close(into)
        with os.fdopen(out) as told:
            text = told.read()
        os.wait()
        return text

    return {kind: [seen(versions) for versions in workers] for kind, workers in mapped.items()}
