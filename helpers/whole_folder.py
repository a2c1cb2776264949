"""A folder that is whole or as it was: written beside its place, and then exchanged for what is there."""

import ctypes
import sys
from collections.abc import Mapping
from pathlib import Path

from .scratch import room

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # fcntl.h, stdio.h


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Makes `folder` hold these files and nothing else, by their names in it ("a.html", "data/b.json"), or leaves it as
    it was."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with room(f".{folder.name}", folder.parent) as scratch:
        new, old = scratch / "new", scratch / "old"
        new.mkdir()
        for name, data in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(data)
        if _exchanged(new, folder):
            return
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise


def _exchanged(one: Path, other: Path) -> bool:
    """Have the two folders changed places? In one step, renameat2(2) with RENAME_EXCHANGE, which only Linux has."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc 2.28 and later
    return rename is not None and rename(AT_FDCWD, bytes(one), AT_FDCWD, bytes(other), RENAME_EXCHANGE) == 0
