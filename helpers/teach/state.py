"""What a student keeps between kernels: small JSON files in the student's own folder, one for each
purpose. Reading never fails: a damaged file is set aside under another name, not deleted. Writing
is whole or not at all; if the folder can't be written, values are kept in this kernel.
"""

import json
from contextlib import suppress
from typing import Any

from .. import folders
from ..safe_files import exclusive
from .notebook_files import content

# for another kernel, which may have been stopped; then, at worst, one of two values is lost
LOCK_TIMEOUT_S = 2.0
_here: dict[str, dict[str, Any]] = {}  # file name -> what could not be written


def read(name: str) -> dict[str, Any]:
    """Everything that is kept in `name`.json; {} if there is nothing, or nothing readable."""
    try:
        with exclusive(folders.state(), LOCK_TIMEOUT_S):
            return _on_disk(name) | _here.get(name, {})
    except OSError:
        return _here.get(name, {})


def keep(name: str, key: str, value: Any) -> bool:
    """Keeps a value; None forgets it. Returns False if it could be kept only in this kernel."""
    try:
        with exclusive(folders.state(), LOCK_TIMEOUT_S):
            values = {k: v for k, v in (_on_disk(name) | {key: value}).items() if v is not None}
            folders.write_whole(
                folders.state() / f"{name}.json",
                json.dumps(values, indent=1, sort_keys=True) + "\n",
            )
    except OSError:
        _here.setdefault(name, {})[key] = value
        return False
    _here.get(name, {}).pop(key, None)
    return True


def _on_disk(name: str) -> dict[str, Any]:
    """What the file holds. A damaged file gets the first free name of predictions.damaged,
    predictions-2.damaged, …
    """
    path = folders.state() / f"{name}.json"
    with suppress(ValueError, RecursionError):  # neither JSON nor text; nested a thousand deep
        try:
            values = json.loads(content(path))
        except FileNotFoundError:
            return {}
        if isinstance(values, dict):
            return values
    with suppress(OSError):  # then it stays where it is until something is written
        path.rename(folders.free(path.with_suffix(".damaged")))
    return {}
