"""Lesson 08: the answers of its quizzes, found by measuring."""

import ctypes
import json
import mmap
import sys
from pathlib import Path

from helpers.measure import maps, page_map
from helpers.teach.judging import on_a_file

# as the question has it
ESCAPES = '{"city": "Zürich", "code": "", "note": "two\\nlines", "path": "/tmp/a b"}'


def own_characters() -> int | None:
    """1 if a str of ASCII holds the characters within its own block of memory, where a memoryview
    holds an address.
    """
    if sys.implementation.name != "cpython":
        return None
    text = b'{"city": "' + 1000 * b"Zurich" + b'"}'
    view, value = memoryview(text)[10:-2], json.loads(text)["city"]
    block = ctypes.string_at(id(value), sys.getsizeof(value))
    return 1 if bytes(view) in block and sys.getsizeof(view) < len(view) / 10 else 0


def owned() -> int:
    """The string of ESCAPES that, in UTF-8, is not a piece of its text."""
    values = json.loads(ESCAPES).values()
    found = [
        number for number, value in enumerate(values) if value.encode() not in ESCAPES.encode()
    ]
    return found[0] if len(found) == 1 else 0


@on_a_file
def touched(path: Path) -> int | None:
    """2 if no page of a fresh mapping is there, and every page once a byte of each was read."""
    if maps.why_not():
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        before = page_map(mapping).present
        for at in range(0, len(mapping), mmap.PAGESIZE):
            mapping[at]
        after = page_map(mapping)
    return 2 if before == 0 and after.present == len(after) else 0
