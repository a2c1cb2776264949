"""Arrow: each buffer of a table, by column, chunk and role.
https://arrow.apache.org/docs/format/Columnar.html
"""

from dataclasses import replace

from ..whereabouts import MOST, describes, of_buffer

OFFSETS = ("validity", "offsets")
VIEWS = ("validity", "views", *map("data {}".format, range(MOST)))
# Of a type: its own buffers, and the attributes of its children.
KINDS = {
    **dict.fromkeys(("string", "binary", "large_string", "large_binary"), ((*OFFSETS, "data"), ())),
    **dict.fromkeys(("string_view", "binary_view"), (VIEWS, ())),
    **dict.fromkeys(("list", "large_list"), (OFFSETS, ("values",))),
    **dict.fromkeys(("list_view", "large_list_view"), ((*OFFSETS, "sizes"), ("values",))),
    "fixed_size_list": (("validity",), ("values",)),
    "map": (OFFSETS, ("keys", "items")),
    "struct": (("validity",), ()),
    "sparse_union": (("", "types"), ()),
    "dense_union": (("", "types", "offsets"), ()),
    "dictionary": (("validity", "indices"), ("dictionary",)),
    "run_end_encoded": (("",), ("run_ends", "values")),
}


@describes("pyarrow._Tabular")
def tabular(x):  # tables and batches
    return zip(x.schema.names, x.columns, strict=True)


@describes("pyarrow.ChunkedArray")
def chunked_array(x):
    return [(f"chunk {n}" if x.num_chunks > 1 else "", chunk) for n, chunk in enumerate(x.chunks)]


@describes("pyarrow.Array")
def array(x):
    own, children = KINDS.get(str(x.type).partition("<")[0], (("validity", "data"), ()))
    shown = f"{x.type}, elements {x.offset:,} to {x.offset + len(x):,}"
    yield from (
        (role, buffer, shown)
        for role, buffer in zip(own, x.buffers(), strict=False)
        if buffer is not None
    )
    yield from ((role, getattr(x, role)) for role in children)
    if not children:
        yield from ((x.type.field(n).name, x.field(n)) for n in range(x.type.num_fields))


@describes("pyarrow.ExtensionArray")
def extension_array(x):
    return [("", x.storage)]


@describes("pyarrow.Buffer")
def buffer(x):
    """With the buffers that it's a slice of, as in a message: it keeps all of them."""
    if not x.is_cpu:
        return [("bytes", f"{x.size:,}, on {x.device}, not in this process's memory")]
    found = of_buffer(x)
    owners = []
    while x is not None:
        owners.append(("Buffer", f"{x.size:,} bytes" + ", a slice" * bool(x.parent)))
        x = x.parent
    return replace(found, owners=tuple(owners), layout="", nbytes=None)
