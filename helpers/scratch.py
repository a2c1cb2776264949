"""A place for files that a lesson writes and throws away."""

import atexit
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

from .folders import generated
from .whole import locked_folder, remove_folder, temporary_folder


def scratch(name: str) -> Path:
    """A path for `name` in this process's own folder under `folders.generated()`. Makes no file yet.

    So two notebooks never write the same copy. The folder goes when the process ends. If the process is killed, the
    next process to call scratch() removes its folder.
    """
    return _of_this_process(generated()) / name


@cache
def _of_this_process(parent: Path) -> Path:
    folder, _ = locked_folder(parent, "scratch")
    atexit.register(remove_folder, folder)
    return folder


def room(name: str) -> AbstractContextManager[Path]:
    """A `temporary_folder` in `folders.generated()`."""
    return temporary_folder(generated(), name)
