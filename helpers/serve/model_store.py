"""What a version is, and how it's opened."""

import json
import os
from pathlib import Path
from typing import NamedTuple

from ..ideas.carts import EmptyFile
from ..ideas.safetensors import SafetensorsError
from ..ideas.yoke import Yoke
from ..units import MiB
from .digits import BACKENDS
from .validation import Refused

SLOT = 4 * MiB  # more than a tenant's own weights take: they come in a body of at most 1 MiB


class Superseded(Exception):
    """While a version was opened, another one took its name."""


class Key(NamedTuple):
    """What a yoke in the cache was made from. `own` and `own_version`: a tenant's weights, or None and ""."""

    path: Path
    version: str
    backend: str
    own: Path | None
    own_version: str

    def outdated(self) -> bool:
        """Does a name lead elsewhere now?"""
        return self.version != version_at(self.path) or bool(self.own and self.own_version != version_at(self.own))

    def private(self) -> bool:
        """Does it take memory of this process's own?"""
        return self.backend != "mapped" or self.own is not None

    def weight(self, yoke: Yoke) -> int:
        """The bytes that its yoke counts for in the cache: what it takes of this process's own memory, and no mapped
        file, whose pages are only lent. At least SLOT, which limits how many there are, too: each mapping keeps a
        descriptor, and a process often gets 1,024."""
        return max(SLOT, 0 if self.backend == "mapped" else yoke.size)


def version_of(status: os.stat_result) -> str:
    """A name for the bytes that a file has: no two files at one path have the same, one after the other."""
    return f"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"


def version_at(path: Path) -> str:
    """The version that the name leads to now; "" if there's no such file."""
    try:
        return version_of(os.stat(path))
    except FileNotFoundError:
        return ""


def opened(key: Key) -> Yoke:
    """Opens what the key says. Superseded if that's no longer there, which is found out afterwards."""
    try:
        weights = json.loads(key.own.read_bytes()) if key.own else {}
        yoke = BACKENDS[key.backend](key.path)
    except FileNotFoundError:
        raise Superseded from None
    except (SafetensorsError, EmptyFile, Refused) as error:  # somebody overwrote what had been checked
        raise Refused(503, f"the file of {key.path.name} is damaged: {error}") from None
    if weights:
        try:
            yoke = yoke.map_project(lambda digits: digits.changed(weights))
        except ValueError:
            raise Refused(409, "the tenant's weights don't fit this version") from None
    if key.outdated():
        yoke.release()  # here, or the error's traceback would keep it
        raise Superseded
    return yoke
