"""What a student keeps between kernels: small JSON files in the student's own folder, one a room's use.

Reading never fails: a damaged file is set aside under another name, not deleted. Writing is whole or not at all; where
the folder cannot be written, what was said is kept in this kernel.
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
except ImportError:  # Windows: of two kernels that keep something in the same moment, one may lose it
    fcntl = None

PATIENCE = 2.0  # seconds for another kernel to read, change and write
_here: dict[str, dict[str, Any]] = {}  # file name -> what could not be written


def read(name: str) -> dict[str, Any]:
    """All that is kept in `name`.json; {} where there is nothing, or nothing readable."""
    try:
        with _alone():
            return _on_disk(name) | _here.get(name, {})
    except OSError:
        return _here.get(name, {})


def keep(name: str, key: str, value: Any) -> bool:
    """Keeps one value; None forgets it. False where it could be kept in this kernel only."""
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
    """No other kernel reads, changes or writes meanwhile, flock(2), unless one of them takes longer than PATIENCE."""
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
    """Renamed to the first free of predictions.damaged, predictions.damaged-2, …: an earlier one stays."""
    places = (path.with_suffix(f".damaged{n}") for n in ("", *(f"-{i}" for i in range(2, 100))))
    place = next((p for p in places if not p.exists()), None)
    with suppress(OSError):  # then it stays where it is until something is written
        if place:
            path.rename(place)
