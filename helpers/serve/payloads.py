"""What the body of a request may hold: pictures, or a tenant's weights."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from starlette.requests import Request

from ..whole import whole_file
from .digits import INK, OWN, PIXELS
from .validation import Refused, room_on_disk


async def body_of(request: Request, largest: int) -> bytes:
    """All of the body; refused as soon as it's too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise Refused(413, f"a body has at most {largest:,} bytes")
    return bytes(body)


def pictures_in(body: bytes) -> np.ndarray:
    """(n, 64) uint8: 64 bytes for each picture, from 0 (paper) to 16 (ink)."""
    if not body or len(body) % PIXELS:
        raise Refused(422, f"{len(body):,} bytes aren't pictures of {PIXELS}")
    pictures = np.frombuffer(body, np.uint8).reshape(-1, PIXELS)
    if pictures.max() > INK:
        raise Refused(422, f"a pixel is {pictures.max()}; 0 (paper) to {INK} (ink)")
    return pictures


def weights_in(body: bytes, sizes: Mapping[str, int]) -> dict[str, list]:
    """A tenant's own weights: for some of the tensors in OWN, as many finite numbers as the model has there."""
    try:
        weights = json.loads(body)
        with np.errstate(over="ignore"):
            arrays = {name: np.asarray(values, np.float32) for name, values in weights.items()}
        fit = arrays and all(name in OWN and array.size == sizes[name] for name, array in arrays.items())
        fit = fit and all(np.isfinite(array).all() for array in arrays.values())
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        fit = False
    if not fit:
        lists = ", ".join(f"{name}: {sizes[name]:,}" for name in OWN)
        raise Refused(422, f"a tenant's weights are an object of lists of numbers, for some of {lists}", "numbers")
    return weights


def save_weights(weights: dict[str, list], path: Path) -> None:
    data = json.dumps(weights).encode()
    with room_on_disk(), whole_file(path, len(data)) as file:
        file.write(data)
