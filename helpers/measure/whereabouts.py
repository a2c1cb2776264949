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
from .tables import html_table, text_table


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """Where a buffer's bytes lay at one moment. It keeps no view of them alive.

    memory   "file", "shared memory", "anonymous mapping", "heap" or "stack"; NOT_MEASURED without /proc
             ("heap" is everything from malloc, which maps big blocks apart; no mmap object of Python's owns those)
    address, size     of the lowest byte, and bytes up to the end of the highest element
    path, offset      the file, and how many bytes into it these begin; None if there is no file
    owners            the object, what it is a view of, and so on: (type, description); the last owns the bytes
    writable_view     does this object let you write?
    writable_mapping  may the process write to these pages? None if not measured
    states            the pages that hold the bytes; the first and last page may hold other bytes too
    region            the mapping at the first byte; None if not measured
    """

    memory: str
    address: int
    size: int
    path: Path | None
    offset: int | None
    owners: tuple[tuple[str, str], ...]
    writable_view: bool
    writable_mapping: bool | None
    states: PageMap
    region: maps.Region | None = None

    @property
    def writable(self) -> bool:
        """Can you write through this object, into these pages?"""
        return self.writable_view and self.writable_mapping is not False

    @property
    def pages(self) -> int | None:
        """How many pages hold the bytes; None if not measured."""
        return None if self.states.states is None else len(self.states)

    @property
    def present(self) -> int | None:
        """How many of these pages were in memory; None if not measured."""
        return self.states.present

    @property
    def why(self) -> str:
        """Why pages were not measured; "" if they were."""
        return self.states.why

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Header and rows, as text."""
        rows = [
            ("memory", self._place()),
            ("bytes", f"{in_words(self.size, 'bytes')} at {self.address:#x}"),
            ("pages in memory", f"not here: {self.why}" if self.why else f"{self.present:,} of {self.pages:,}"),
            *((f"… {state.words}", f"{count:,}") for state, count in self.states.counts.items() if state),
            ("writable", self._writable()),
            *(("owned by" if i else "object", f"{name}: {role}") for i, (name, role) in enumerate(self.owners)),
        ]
        return ("", "where"), rows

    def __repr__(self) -> str:
        return text_table(*self.table())

    def _repr_html_(self) -> str:
        header, rows = self.table()
        return html_table(f"Where the bytes of this {self.owners[0][0]} lie", ("property", *header[1:]), rows)

    def _place(self) -> str:
        if self.path is None:
            return self.memory
        deleted = ", deleted" if self.region and self.region.deleted else ""
        return f"{self.memory}: {self.path.name}{deleted}, from byte {self.offset:,}"

    def _writable(self) -> str:
        if self.writable_mapping is None:
            return "yes" if self.writable_view else "no"
        if not self.writable_view:
            return "no: a read-only view" + ("" if self.writable_mapping else " of a read-only mapping")
        if not self.writable_mapping:
            return "no: the mapping is read-only"
        return "yes: everybody who maps it sees it" if self.region.shared else "yes: into a page of this process alone"


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
    named = memory in ("file", "shared memory") and not region.path.startswith(("/dev/zero", "[", "/SYSV"))
    path = Path(region.path.removesuffix(maps.DELETED)) if named else None
    offset = region.offset + address - region.start if named else None
    return Whereabouts(
        memory, address, size, path, offset, owners, writable, region.permissions[1] == "w", states, region
    )


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
