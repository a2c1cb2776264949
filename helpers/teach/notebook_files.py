"""A notebook's file as plain JSON, because nbformat takes a second to import."""

import errno
import json
import os
from pathlib import Path
from typing import Any

from ..safe_files import regular_file
from ..units import MiB, in_words

Notebook = dict[str, Any]
LARGEST = 512 * MiB  # of a file that a student keeps: a lesson with its figures takes 1 to 3 MiB


class NoNotebook(ValueError):
    """A file that can't be read as a notebook of format 4."""


def read(path: Path, data: bytes | None = None) -> Notebook:
    """The notebook in this file, or in `data` from it. NoNotebook names the file and says why it
    can't be read.
    """
    try:
        notebook = json.loads(content(path) if data is None else data)
    except OSError as error:
        raise NoNotebook(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise NoNotebook(f"{path} cannot be read as a notebook: not JSON: {error}") from error
    match notebook:
        case {"nbformat": 4, "nbformat_minor": int(), "metadata": dict(), "cells": [*cells]}:
            if all(map(_is_cell, cells)):
                return notebook
    raise NoNotebook(f"{path} cannot be read as a notebook: not in format 4")


def code_cells(notebook: Notebook) -> list[tuple[str, str]]:
    """The name, "<cell 31>", and the text of each code cell."""
    cells = enumerate(notebook["cells"], 1)
    return [
        (f"<cell {number}>", "".join(cell["source"]))
        for number, cell in cells
        if cell["cell_type"] == "code"
    ]


def content(path: Path) -> bytes:
    """The bytes in a file. Raises OSError for anything that isn't a regular file, and for a file
    past LARGEST.
    """
    with regular_file(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > LARGEST:
            words = f"it has {in_words(size, 'bytes')}; the limit is {in_words(LARGEST, 'bytes')}"
            raise OSError(errno.EFBIG, words, str(path))
        return file.read()


def _is_cell(found: Any) -> bool:
    match found:
        case {"cell_type": str(), "metadata": dict(), "source": str() | [*_] as lines}:
            return all(isinstance(line, str) for line in lines)
    return False
