"""A notebook's file as plain JSON, because nbformat takes a second to import."""

import json
from pathlib import Path
from typing import Any

from ..whole import regular_file

Notebook = dict[str, Any]


class NoNotebook(ValueError):
    """A file that can't be read as a notebook of format 4."""


def read(path: Path) -> Notebook:
    """The notebook in this file. Raises NoNotebook, which names the file and says why it can't be read."""
    try:
        found = json.loads(content(path))
    except OSError as error:
        raise NoNotebook(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise NoNotebook(f"{path} cannot be read as a notebook: not JSON: {error}") from error
    if not _is_notebook(found):
        raise NoNotebook(f"{path} cannot be read as a notebook: not in format 4")
    return found


def content(path: Path) -> bytes:
    """The bytes in a file. Raises OSError for anything that isn't a regular file."""
    with regular_file(path) as file:
        return file.read()


def _is_notebook(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and found.get("nbformat") == 4
        and isinstance(found.get("nbformat_minor"), int)
        and isinstance(found.get("metadata"), dict)
        and isinstance(found.get("cells"), list)
        and all(isinstance(cell, dict) and _is_cell(**cell) for cell in found["cells"])
    )


def _is_cell(cell_type: Any = None, source: Any = None, metadata: Any = None, **_: Any) -> bool:
    lines = source if isinstance(source, list) else [source]
    return isinstance(cell_type, str) and isinstance(metadata, dict) and all(isinstance(line, str) for line in lines)
