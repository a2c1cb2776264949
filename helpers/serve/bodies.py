"""What the body of a request may hold: pictures, or a tenant's weights."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request

from ..whole import whole_file
from .asked import Refused, room_on_disk
from .digits import INK, OWN, PIXELS

LARGEST = np.finfo(np.float32).max


async def body_of(request: Request, largest: int) -> bytes:
    """All of the body; refused as soon as it's too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise Refused(413, f"a body has at most {largest:,} bytes")
    return bytes(body)


def pictures_in(body: bytes, kind: str) -> np.ndarray:
    """(n, 64) uint8. As JSON: {"pictures": [[64 numbers], …]}; else as bytes, 64 for each picture."""
    if kind.partition(";")[0] != "application/json":
        if not body or len(body) % PIXELS:
            raise Refused(422, f"{len(body):,} bytes aren't pictures of {PIXELS}")
        pictures = np.frombuffer(body, np.uint8).reshape(-1, PIXELS)
        if pictures.max() > INK:
            raise Refused(422, f"a pixel is {pictures.max()}; 0 (paper) to {INK} (ink)")
        return pictures
    try:
        given = json.loads(body)["pictures"]
        numbers = np.asarray(given, np.float64)
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise Refused(422, 'this is no JSON of the form {"pictures": [[64 numbers], …]}') from None
    if numbers.ndim != 2 or numbers.shape[1] != PIXELS or not len(numbers):
        raise Refused(422, f"pictures of shape {numbers.shape}; it would be (n, {PIXELS})")
    if not ((numbers >= 0) & (numbers <= INK) & (numbers % 1 == 0)).all():
        raise Refused(422, f"a pixel is a whole number from 0 (paper) to {INK} (ink)")
    return numbers.astype(np.uint8)


def changes_in(body: bytes, sizes: Mapping[str, int]) -> dict[str, list]:
    """A tenant's own weights: for some of the tensors in OWN, as many finite numbers as the model has there."""
    try:
        changes: Any = json.loads(body)
        fine = type(changes) is dict and changes and all(name in OWN for name in changes)
        fine = fine and all(finite(values).size == sizes[name] for name, values in changes.items())
    except (ValueError, TypeError, RecursionError, OverflowError):
        fine = False
    if not fine:
        lists = ", ".join(f"{name}: {sizes[name]:,}" for name in OWN)
        raise Refused(422, f"a tenant's weights are an object of lists of numbers, for some of {lists}", "numbers")
    return changes


def finite(values: Any) -> np.ndarray:
    """Numbers that float32 can hold, from a list or a list of lists; ValueError if it's anything else."""
    numbers = np.asarray(values)
    if type(values) is not list or numbers.dtype.kind not in "iuf" or not (abs(numbers) <= LARGEST).all():
        raise ValueError("no list of finite numbers")
    return numbers


def keep(changes: dict[str, list], own: Path) -> None:
    """Keeps a tenant's weights in a file."""
    data = json.dumps(changes).encode()
    with room_on_disk(), whole_file(own, len(data)) as file:
        file.write(data)
