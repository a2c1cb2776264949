"""Replace a folder completely or not at all: written beside its place, then exchanged with the old folder."""

import sys
from collections.abc import Mapping
from pathlib import Path

from .libc import libc
from .scratch import room

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # fcntl.h, stdio.h


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Makes `folder` hold exactly these files, by their paths in it ("a.html", "data/b.json"), or leaves it as it
    was."""
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


def _exchanged(new: Path, old: Path) -> bool:
    """Swaps the folders in one step, renameat2(2) with RENAME_EXCHANGE; False if the system can't, as outside Linux."""
    if sys.platform != "linux":
        return False
    rename = getattr(libc(), "renameat2", None)  # glibc 2.28 and later
    return rename is not None and rename(AT_FDCWD, bytes(new), AT_FDCWD, bytes(old), RENAME_EXCHANGE) == 0
