"""Arrow: each buffer of a table, by column, chunk and role. https://arrow.apache.org/docs/format/Columnar.html"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count
from typing import Any

from ..whereabouts import Whereabouts, of_buffer

VALIDITY, OFFSETS = ("validity",), ("validity", "offsets")
VIEWS = ("string_view", "binary_view")  # with as many buffers of data as they need
BYTES = ("validity", "offsets", "data"), ()
# Of a type: its own buffers, and the attributes of its children.
KINDS = {
    **dict.fromkeys(("string", "binary", "large_string", "large_binary"), BYTES),
    **dict.fromkeys(("list", "large_list"), (OFFSETS, ("values",))),
    **dict.fromkeys(("list_view", "large_list_view"), ((*OFFSETS, "sizes"), ("values",))),
    "fixed_size_list": (VALIDITY, ("values",)),
    "map": (OFFSETS, ("keys", "items")),
    "struct": (VALIDITY, ()),
    "sparse_union": (("", "types"), ()),
    "dense_union": (("", "types", "offsets"), ()),
    "dictionary": (("validity", "indices"), ("dictionary",)),
    "run_end_encoded": (("",), ("run_ends", "values")),
}


def table(x: Any) -> Iterator[tuple]:
    yield from zip(x.schema.names, x.columns, strict=True)


def chunked(x: Any) -> Iterator[tuple]:
    yield from ((f"chunk {n}" if x.num_chunks > 1 else "", chunk) for n, chunk in enumerate(x.chunks))


def array(x: Any) -> Iterator[tuple]:
    name = str(x.type).partition("<")[0]
    own, children = KINDS.get(name, (("validity", "data"), ()))
    roles = chain(("validity", "views"), map("data {}".format, count())) if name in VIEWS else own
    shown = f"{x.type}, elements {x.offset:,} to {x.offset + len(x):,}"
    yield from ((role, buffer, shown) for role, buffer in zip(roles, x.buffers(), strict=False) if buffer is not None)
    yield from ((role, getattr(x, role)) for role in children)
    if not children:
        yield from ((x.type.field(n).name, x.field(n)) for n in range(x.type.num_fields))


def buffer(x: Any) -> Whereabouts | list[tuple]:
    """With the buffers that it's a slice of, as in a message: it keeps all of them."""
    if not x.is_cpu:
        return [("bytes", f"{x.size:,}, on {x.device}, not in this process's memory")]
    found, owners = of_buffer(x), []
    while x is not None:
        owners.append(("Buffer", f"{x.size:,} bytes" + ", a slice" * bool(x.parent)))
        x = x.parent
    return replace(found, owners=tuple(owners), layout="", nbytes=None)


LENDERS = {
    "Table": table,
    "RecordBatch": table,
    "ChunkedArray": chunked,
    "Array": array,
    "ExtensionArray": lambda x: [("", x.storage)],
    "Buffer": buffer,
}
