"""How the other made files are written: piece by piece, no file ever whole in memory, and what is there is compared."""

import errno
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.random import SFC64, SeedSequence
from tqdm.auto import tqdm

from .. import units
from ..folders import generated
from ..whole import check_room, followed, remove_abandoned, whole_file

PATIENCE = 2.0  # seconds before a progress bar shows


@dataclass(frozen=True)
class Made:
    """A file to be: its pieces, none of them empty, are the same at each call."""

    path: Path
    size: int  # bytes, or a little more where they are known only when they are made
    pieces: Callable[[], Iterable[bytes | np.ndarray]]


def place(path: str | os.PathLike) -> Path:
    """A bare name lies in `folders.generated()`; a path with a folder is taken as it is."""
    return Path(path) if os.path.dirname(path) else generated() / path


def checked_seed(seed: int) -> int:
    """ValueError, TypeError for what is no whole number of 32 bits."""
    seed = operator.index(seed)
    if not 0 <= seed < 2**32:  # a larger one would share its pieces with a smaller one
        raise ValueError(f"a seed is a whole number from 0 to 4294967295, not {seed}")
    return seed


def random_bytes(size: int, seed: int, name: str, i: int) -> np.ndarray:
    """(size,) uint8, piece `i` of what is called `name`. SFC64 is a stream that numpy promises not to change."""
    words = SFC64(SeedSequence([seed, crc32(name.encode()), i])).random_raw(-(-size // 8))
    return words.astype("<u8", copy=False).view(np.uint8)[:size]


def make(*wanted: Made, by: str) -> None:
    """Makes each file, in this order, whole or not at all; `by` names the call in errors.

    Of several the last is the index of the others: it goes before the first of them is written, and is written when all
    are there, so that no index leads to the files of two calls.

    A file that is there is made again in memory and compared. If it is the one, it is left as it is. If not, it is
    replaced where nothing can be lost: in `folders.generated()`, or where its first MiB is ours. Anything else
    stays. That, and the room for all of them, is found out before the first is written.

    Errors: FileExistsError, FileNotFoundError (no such folder), IsADirectoryError, OSError with errno ENOSPC.
    """
    with _bar(wanted) as bar:
        missing = [file for file in wanted if not _is_there(file, by, bar)]
    if missing and len(wanted) > 1:
        *others, index = wanted
        missing = [*(file for file in others if file in missing), index]
        check_room(index.path.parent, sum(file.size for file in missing), by)
        if index.path.is_file():
            followed(index.path).unlink()
    with _bar(missing) as bar:
        for file in missing:
            bar.set_description(f"writing {file.path.name}", refresh=False)
            with whole_file(file.path, file.size) as out:
                for piece in file.pieces():
                    out.write(piece)
                    bar.update(len(piece))


def _is_there(file: Made, by: str, bar: tqdm) -> bool:
    bar.set_description(f"checking {file.path.name}", refresh=False)
    return is_there(followed(file.path), by, lambda: _is_ours(file, bar), lambda: _begins_like_ours(file))


def is_there(target: Path, by: str, is_ours: Callable[[], bool], begins_like_ours: Callable[[], bool]) -> bool:
    """Is the file there as `by` makes it? False if it is to be made: there is none, or one that may be replaced.

    That is one in `folders.generated()`, or one that begins like ours; anything else is FileExistsError. `target` is
    resolved: through a link its file is made, and the link stays.
    """
    if not target.is_file():
        return False
    remove_abandoned(target)
    if is_ours():
        return True
    if not (target.is_relative_to(generated()) or begins_like_ours()):
        raise FileExistsError(
            errno.EEXIST,
            f"there is a file that {by} did not make, and it was left as it is; "
            "choose another name, or move or delete it",
            str(target),
        )
    return False


def _is_ours(file: Made, bar: tqdm) -> bool:
    with file.path.open("rb") as there:
        for piece in file.pieces():
            found = np.frombuffer(there.read(len(piece)), np.uint8)
            if not np.array_equal(found, np.frombuffer(piece, np.uint8)):
                return False
            bar.update(len(piece))
        return not there.read(1)


def _begins_like_ours(file: Made) -> bool:
    first = bytearray()
    for piece in file.pieces():
        first += memoryview(piece)
        if len(first) >= units.MiB:
            break
    with file.path.open("rb") as there:
        return first.startswith(there.read(max(len(first), 64)))  # a few bytes of ours may be anybody's


def _bar(files: Sequence[Made]) -> tqdm:
    total = sum(file.size for file in files)
    return tqdm(total=total, unit="iB", unit_scale=True, unit_divisor=1024, delay=PATIENCE, leave=False)
