"""The same records as JSON, as msgpack and as an array of structs."""

import json
import os
import struct
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .. import units
from .pieces import Made, checked_seed, make, place, random_bytes

BLOCK = 1024  # records made at a time
MOST = 64 * units.KiB  # the largest payload, so a block is at most 64 MiB
NAME = 24  # bytes in the longest name
KINDS = ("json", "msgpack", "binary")
ADJECTIVES = "amber brisk calm copper dusty early faint grey hollow ivory keen late mild north quiet wild"
BIRDS = "bittern crane dunlin egret falcon gannet heron ibis jackdaw kestrel linnet merlin osprey plover swift wren"
MUST_BE_ESCAPED = '"\\\n'


def record(payload: int | str = "1 KiB") -> np.dtype:
    """The dtype of a record in a binary file, little-endian and packed: id, name, lat, lon, payload bytes."""
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
    """A file of `count` records at `path`; existing files and errors as in `random_file`.

    A record is a sensor: id (0, 1, 2, …), name (at most 24 ASCII letters: "copper heron 417"), lat, lon (degrees, six
    decimals), payload (that many random bytes, at most 64 KiB). The same seed gives the same records in each kind:

    json     one array of objects, without white space; the payload in base64, a third longer
    msgpack  one array of maps; id as uint 64, lat and lon as float 64, payload as bin 32
    binary   one `record(payload)` after another, and nothing else: `np.memmap(path, RECORD)` reads it

    escaped: the fraction of names, from 0.0 to 1.0, in which a quotation mark, a backslash or a line feed replaces a
    space. JSON writes each of these as two bytes. Nothing else changes.
    """
    path, seed, payload = place(path), checked_seed(seed), units.size(payload)
    if kind not in KINDS or not 0 <= escaped <= 1 or not 0 <= count < 2**32 or payload > MOST:
        raise ValueError(
            f"kind is one of {', '.join(KINDS)}, escaped 0 to 1, count 0 to 4294967295, payload 0 to {MOST} bytes; "
            f"not {kind!r}, {escaped}, {count}, {payload}"
        )

    def blocks() -> Iterator[np.ndarray]:
        for i, begin in enumerate(range(0, count, BLOCK)):
            yield _block(seed, i, escaped, payload)[: count - begin]

    most = {"binary": record(payload).itemsize, "msgpack": payload + 90, "json": payload * 4 // 3 + 140}
    pieces = {"binary": _binary, "msgpack": _msgpack, "json": _json}[kind]
    make(Made(path, count * most[kind] + 8, lambda: pieces(blocks(), count)), by=f"records(seed={seed})")
    return path


def _block(seed: int, i: int, escaped: float, payload: int) -> np.ndarray:
    """(BLOCK,) of `record(payload)`, from number i * BLOCK on."""
    draws = random_bytes(4 * 8 * BLOCK, seed, "records", i).view("<u8").reshape(4, BLOCK)
    made = np.zeros(BLOCK, record(payload))
    made["id"] = i * BLOCK + np.arange(BLOCK)
    made["name"] = [_name(*draw, escaped) for draw in draws[:2].T.tolist()]
    made["lat"], made["lon"] = (_degrees(*each) for each in zip(draws[2:], (90, 180), strict=True))
    made["payload"] = random_bytes(BLOCK * payload, seed, "payload", i).reshape(BLOCK, payload)
    return made


def _name(words: int, blank: int, escaped: float) -> str:
    first = MUST_BE_ESCAPED[blank % 3] if blank / 2**64 < escaped else " "
    return f"{ADJECTIVES.split()[words % 16]}{first}{BIRDS.split()[words // 16 % 16]} {words // 256 % 1000}"


def _degrees(draws: np.ndarray, most: int) -> np.ndarray:
    """From -most to most, in millionths, so six decimals are exact."""
    return ((draws % (2 * most * 10**6 + 1)).astype(np.int64) - most * 10**6) / 1e6


def _rows(block: np.ndarray) -> Iterator[tuple[int, bytes, float, float, bytes]]:
    return zip(
        *(block[name].tolist() for name in ("id", "name", "lat", "lon")), map(bytes, block["payload"]), strict=True
    )


def _binary(blocks: Iterator[np.ndarray], count: int) -> Iterator[bytes]:
    return (block.tobytes() for block in blocks)


def _json(blocks: Iterator[np.ndarray], count: int) -> Iterator[bytes]:
    encode = json.JSONEncoder(separators=(",", ":")).encode
    before = "["
    for block in blocks:
        rows = [
            {"id": id, "name": name.decode(), "lat": lat, "lon": lon, "payload": b64encode(payload).decode()}
            for id, name, lat, lon, payload in _rows(block)
        ]
        yield (before + encode(rows)[1:-1]).encode()
        before = ","
    yield b"]" if count else b"[]"


def _msgpack(blocks: Iterator[np.ndarray], count: int) -> Iterator[bytes]:
    """Of the format (https://github.com/msgpack/msgpack/blob/master/spec.md), what these records need."""
    before = struct.pack(">BI", 0xDD, count)  # array 32
    for block in blocks:
        yield before + b"".join(
            b"\x85\xa2id" + struct.pack(">BQ", 0xCF, id)  # a map of 5; a text of 2 bytes; uint 64
            + b"\xa4name" + bytes([0xA0 + len(name)]) + name
            + b"\xa3lat" + struct.pack(">Bd", 0xCB, lat) + b"\xa3lon" + struct.pack(">Bd", 0xCB, lon)  # float 64
            + b"\xa7payload" + struct.pack(">BI", 0xC6, len(payload)) + payload  # bin 32
            for id, name, lat, lon, payload in _rows(block)
        )  # fmt: skip
        before = b""
    if not count:
        yield before
