"""`where(x)`: whose memory the bytes of an array or view lie in, and which object owns them: zero-copy, proved."""

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..owners import link_of, mapping_under, way_to_owner
from ..units import NOT_MEASURED, in_words
from . import maps
from .pages import PageMap, extent, page_map
from .tables import Tabled


@dataclass(frozen=True, eq=False, repr=False)
class Whereabouts(Tabled):
    """Where a buffer's bytes lay at one moment. It keeps no view of them alive.

    memory   "file", "shared memory", "anonymous mapping", "heap" or "stack"; NOT_MEASURED without /proc
             ("heap" is everything from malloc, which maps big blocks apart; no mmap object of Python's owns those)
    address, size     of the lowest byte, and bytes up to the end of the highest element
    path, offset      the file, and how many bytes into it these begin; None if there is no file
    owners            the object, what it is a view of, and so on: (type, description); the last owns the bytes
    writable, reason  can you write through this object, into these pages; and why not, or who sees it
    states            the pages that hold the bytes; the first and last page may hold other bytes too
    """

    memory: str
    address: int
    size: int
    path: Path | None
    offset: int | None
    owners: tuple[tuple[str, str], ...]
    writable: bool
    reason: str | None
    states: PageMap

    @property
    def pages(self) -> int | None:
        """How many pages hold the bytes; None if not measured."""
        return None if self.states.states is None else len(self.states)

    @property
    def present(self) -> int | None:
        """How many of these pages were in memory; None if not measured."""
        return self.states.present

    @property
    def file(self) -> str | None:
        """The file's name, with ", deleted" if it has been; None if there is no file."""
        return self.path and self.path.name + ", deleted" * self.states.region.deleted

    @property
    def title(self) -> str:
        return f"Where the bytes of this {self.owners[0][0]} lie"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        states, yes = self.states, "yes" if self.writable else "no"
        rows = [
            ("memory", f"{self.memory}: {self.file}, from byte {self.offset:,}" if self.path else self.memory),
            ("bytes", f"{in_words(self.size, 'bytes')} at {self.address:#x}"),
            ("pages in memory", f"not here: {states.why}" if states.why else f"{self.present:,} of {self.pages:,}"),
            *((f"… {state.words}", f"{count:,}") for state, count in states.counts.items() if state),
            ("writable", f"{yes}: {self.reason}" if self.reason else yes),
            *(("owned by" if i else "object", f"{name}: {role}") for i, (name, role) in enumerate(self.owners)),
        ]
        return ("property", "where"), rows


def where(x: Any) -> Whereabouts:
    """Whose memory the bytes of `x` lie in. `x` is an array, memoryview, mapping, bytes, or anything with a buffer.

    Looking brings no page in. TypeError if `x` has no buffer (a list's elements lie all over the heap), ValueError for
    a closed mapping or an empty buffer, which lies nowhere.
    """
    address, size = extent(x)
    chain = way_to_owner(x)
    owners = tuple((type(owner).__name__, _role(owner)) for owner in chain)
    states = page_map(address=address, size=size)
    writable = x.flags.writeable if isinstance(x, np.ndarray) else not memoryview(x).readonly
    region = states.region
    if region is None:
        return Whereabouts(NOT_MEASURED, address, size, None, None, owners, writable, None, states)
    memory = region.kind
    if memory == "anonymous":
        memory = "anonymous mapping" if mapping_under(x) is not None else "heap"
    path = offset = None
    if memory in ("file", "shared memory") and not region.path.startswith(("/dev/zero", "[", "/SYSV")):
        path, offset = Path(region.path.removesuffix(maps.DELETED)), region.offset + address - region.start
    mapping_too = region.permissions[1] == "w"
    if not writable:
        reason = "a read-only view" if mapping_too else "a read-only view of a read-only mapping"
    elif not mapping_too:
        reason = "the mapping is read-only"
    else:
        reason = "everybody who maps it sees it" if region.shared else "into a page of this process alone"
    return Whereabouts(memory, address, size, path, offset, owners, writable and mapping_too, reason, states)


def _role(owner: Any) -> str:
    if isinstance(owner, mmap.mmap):
        return f"a mapping of {in_words(len(owner), 'bytes')}"
    if isinstance(owner, (np.ndarray, memoryview)):
        size = in_words(owner.nbytes, "bytes")
        if isinstance(owner, np.ndarray) and link_of(owner) is None:
            return f"owns its {size}" if owner.flags.owndata else f"a view of {size} that no object owns"
        return f"a view of {size}"
    if isinstance(owner, (bytes, bytearray)):
        return f"owns its {in_words(len(owner), 'bytes')}"
    return "lends its bytes"
