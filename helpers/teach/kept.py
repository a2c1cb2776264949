"""What a student keeps between kernels: small JSON files in the student's own folder, one for each purpose.

Reading never fails: a damaged file is set aside under another name, not deleted. Writing is whole or not at all; if the
folder can't be written, values are kept in this kernel.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .. import folders

try:
    import fcntl
except ImportError:  # Windows: if two kernels keep something at the same moment, one value may be lost
    fcntl = None

PATIENCE = 2.0  # seconds for another kernel to read, change and write
_here: dict[str, dict[str, Any]] = {}  # file name -> what could not be written


def read(name: str) -> dict[str, Any]:
    """Everything that is kept in `name`.json; {} if there is nothing, or nothing readable."""
    try:
        with _alone():
            return _on_disk(name) | _here.get(name, {})
    except OSError:
        return _here.get(name, {})


def keep(name: str, key: str, value: Any) -> bool:
    """Keeps a value; None forgets it. Returns False if it could be kept only in this kernel."""
    try:
        with _alone():
            everything = _on_disk(name) | {key: value}
            made = {k: v for k, v in everything.items() if v is not None}
            folders.write_whole(_path(name), json.dumps(made, indent=1, sort_keys=True) + "\n")
    except OSError:
        _here.setdefault(name, {})[key] = value
        return False
    _here.get(name, {}).pop(key, None)
    return True


@contextmanager
def _alone() -> Iterator[None]:
    """Meanwhile no other kernel reads, changes or writes, flock(2), unless a kernel takes longer than PATIENCE."""
    folder = os.open(folders.state(), os.O_RDONLY) if fcntl else None
    try:
        until = time.monotonic() + PATIENCE
        while folder is not None and time.monotonic() < until:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:  # a network file system without locks
                break
        yield
    finally:
        if folder is not None:
            os.close(folder)


def _path(name: str) -> Path:
    return folders.state() / f"{name}.json"


def _on_disk(name: str) -> dict[str, Any]:
    try:
        path = _path(name)
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    except (ValueError, RecursionError):  # neither JSON nor text; nested a thousand deep
        pass
    _set_aside(path)
    return {}


def _set_aside(path: Path) -> None:
    """Renames it to the first free name of predictions.damaged, predictions.damaged-2, …: earlier files stay."""
    places = (path.with_suffix(f".damaged{n}") for n in ("", *(f"-{i}" for i in range(2, 100))))
    place = next((p for p in places if not p.exists()), None)
    with suppress(OSError):  # then it stays where it is until something is written
        if place:
            path.rename(place)
