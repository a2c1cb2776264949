"""The same records as JSON and as an array of structs."""

import json
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from .. import units
from .pieces import Made, checked_seed, make, place, random_bytes

BLOCK = 1024  # records made at a time
MOST = 64 * units.KiB  # the largest payload, so a block is at most 64 MiB
NAME = 24  # bytes in the longest name
KINDS = ("json", "binary")
ADJECTIVES = (
    "amber brisk calm copper dusty early faint grey hollow ivory keen late mild north quiet wild"
)
BIRDS = (
    "bittern crane dunlin egret falcon gannet heron ibis jackdaw kestrel linnet merlin osprey "
    "plover swift wren"
)
MUST_BE_ESCAPED = '"\\\n'


def record(payload: int | str = "1 KiB") -> np.dtype:
    """The dtype of a record in a binary file, little-endian and packed: id, name, lat, lon, payload
    bytes.
    """
    fields = [("id", "<i8"), ("name", f"S{NAME}"), ("lat", "<f8"), ("lon", "<f8")]
    return np.dtype([*fields, ("payload", "u1", (units.size(payload),))])


RECORD = record()


def records(
    path: str | os.PathLike,
    count: int,
    kind: str = "json",
    seed: int = 0,
    escaped: float = 0.0,
    payload: int | str = "1 KiB",
) -> Path:
    """A file of `count` records at `path`; existing files and errors as in `random_file`. A record
    is a sensor: id (0, 1, 2, …), name (at most 24 ASCII letters: "copper heron 417"), lat, lon
    (degrees, six decimals), payload (that many random bytes, at most 64 KiB). The same seed gives
    the same records in each kind: "json" is one array of objects, without white space, the payload
    in base64; "binary" is one `record(payload)` after another: `np.memmap(path, RECORD)` reads it.

    `escaped`: the fraction of names in which a quotation mark, a backslash or a line feed replaces
    a space. JSON writes each of these as two bytes.
    """
    path = place(path)
    seed = checked_seed(seed)
    payload = units.size(payload)
    if kind not in KINDS or not 0 <= escaped <= 1 or not 0 <= count < 2**32 or payload > MOST:
        rules = (
            f"kind is one of {', '.join(KINDS)}, escaped 0 to 1, count 0 to 4294967295, payload 0 "
            f"to {MOST} bytes"
        )
        raise ValueError(f"{rules}; not {kind!r}, {escaped}, {count}, {payload}")

    def pieces() -> Iterator[Callable[[], bytes]]:
        for i in range(-(-count // BLOCK)):
            yield lambda i=i: form(_block(seed, i, escaped, payload)[: count - i * BLOCK])
        if kind == "json":
            yield lambda: b"]" if count else b"[]"

    ways = {
        "binary": (np.ndarray.tobytes, record(payload).itemsize),
        "json": (_json, payload * 4 // 3 + 140),
    }
    form, most = ways[kind]
    make(Made(path, count * most + 8, pieces), by=f"records(seed={seed})")
    return path


def _block(seed: int, i: int, escaped: float, payload: int) -> np.ndarray:
    """(BLOCK,) of `record(payload)`, from number i * BLOCK on."""
    draws = random_bytes(4 * 8 * BLOCK, seed, "records", i).view("<u8").reshape(4, BLOCK)
    block = np.zeros(BLOCK, record(payload))
    block["id"] = i * BLOCK + np.arange(BLOCK)
    adjectives = ADJECTIVES.split()
    birds = BIRDS.split()
    for at, (words, blank) in enumerate(draws[:2].T.tolist()):
        first = MUST_BE_ESCAPED[blank % 3] if blank / 2**64 < escaped else " "
        block["name"][at] = (
            f"{adjectives[words % 16]}{first}{birds[words // 16 % 16]} {words // 256 % 1000}"
        )
    # in millionths: six decimals are exact
    for name, number, most in (("lat", draws[2], 90), ("lon", draws[3], 180)):
        block[name] = ((number % (2 * most * 10**6 + 1)).astype(np.int64) - most * 10**6) / 1e6
    block["payload"] = random_bytes(BLOCK * payload, seed, "payload", i).reshape(BLOCK, payload)
    return block


def _json(block: np.ndarray) -> bytes:
    """The block's objects, with a bracket before the first of all, and a comma before the
    others.
    """
    columns = (block[name].tolist() for name in ("id", "name", "lat", "lon"))
    rows = [
        {
            "id": id,
            "name": name.decode(),
            "lat": lat,
            "lon": lon,
            "payload": b64encode(payload).decode(),
        }
        for id, name, lat, lon, payload in zip(*columns, block["payload"], strict=True)
    ]
    text = json.dumps(rows, separators=(",", ":"))[1:-1]
    return f"{',' if block['id'][0] else '['}{text}".encode()
