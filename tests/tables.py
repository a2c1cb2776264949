"""Cases that are text: tests/cases/NAME.toml has tables of them, and longer samples."""

import tomllib
from pathlib import Path
from typing import Any

import pytest


def cases(name: str) -> dict[str, Any]:
    return tomllib.loads(
        (Path(__file__).parent / "cases" / f"{name}.toml").read_text(encoding="utf-8")
    )


def each(name: str, table: str) -> pytest.MarkDecorator:
    """Runs a test for each row of a table. Its columns are the test's arguments."""
    rows = cases(name)[table]
    return pytest.mark.parametrize(
        list(rows[0]), [[row[column] for column in rows[0]] for row in rows]
    )


def each_of(names: str | tuple[str, ...], *rows: Any, **options: Any) -> pytest.MarkDecorator:
    """Runs a test for each of these rows, of which the columns are the test's arguments."""
    return pytest.mark.parametrize(names, rows, **options)
