"""A notebook's file as plain JSON, because nbformat takes a second to import."""

import json
from pathlib import Path
from typing import Any

from ..whole import regular_file

Notebook = dict[str, Any]


class NoNotebook(ValueError):
    """What cannot be read as a notebook of format 4."""


def read(path: Path) -> Notebook:
    """The notebook in this file. NoNotebook says why it cannot be read."""
    try:
        return parsed(content(path))
    except OSError as error:
        raise NoNotebook(error.strerror) from error


def content(path: Path) -> bytes:
    """What stands in a file. OSError for what is none."""
    with regular_file(path) as file:
        return file.read()


def parsed(data: bytes) -> Notebook:
    """The notebook that these bytes are. NoNotebook says why they are none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NoNotebook(f"not JSON: {error}") from error
    if not _is_notebook(found):
        raise NoNotebook("not a notebook of format 4")
    return found


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
