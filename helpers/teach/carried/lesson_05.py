"""The runners of lesson 05, copy a value only on write."""


def normalised(function, cases: list[tuple], numpy_is_here) -> list:
    """What the function made of each case's weights: (path, dtype, shape, read from every n-th column, writable).
    Where it raises something, the traceback stands, and that is the last one.

    The weights lie in a private map, so that a write into them can be seen: the file still has what was there.
    Loading the last argument, a number of numpy's, has loaded numpy before anything was measured.
    """
    import traceback

    told: list = []
    for case in cases:
        try:
            told.append(_normalised(function, *case))
        except Exception:
            return [*told, traceback.format_exc()]
    return told


def _normalised(function, path: str, dtype: str, shape: tuple, every: int, writable: bool) -> dict:
    """Type, dtype and shape of the result, or of what its Cow holds; is it the same memory, were the weights changed,
    what is the result's sum, and are the parts in proportion? Looked at a piece at a time, so that looking takes no
    memory that counts.
    """
    import mmap
    import sys

    import numpy as np

    def mapped(access):
        with open(path, "rb") as file:
            whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=access), dtype)
        return whole.reshape(*shape[:-1], shape[-1] * every)[..., ::every]

    weights, kept = mapped(mmap.ACCESS_COPY if writable else mmap.ACCESS_READ), mapped(mmap.ACCESS_READ)
    value = function(weights)
    cow = sys.modules.get("helpers.ideas.cow")  # it is there if the function has used it
    if cow and isinstance(value, cow.Cow):
        value = value.value
    told = {"type": type(value).__name__, "dtype": None, "shape": None, "same": False, "sum": None, "even": False}
    step = max(1, 2**14 // kept[0].size)
    pieces = [slice(at, at + step) for at in range(0, len(kept), step)]
    told["changed"] = not all(np.array_equal(weights[piece], kept[piece]) for piece in pieces)
    if isinstance(value, np.ndarray):
        told |= {"dtype": str(value.dtype), "shape": value.shape}
        told["same"] = value.__array_interface__["data"][0] == weights.__array_interface__["data"][0]
        told["sum"] = float(value.sum(dtype="f8"))
        if value.shape == kept.shape:
            ratio = told["sum"] / float(kept.sum(dtype="f8"))
            told["even"] = all(np.allclose(value[piece], kept[piece] * ratio, rtol=1e-4) for piece in pieces)
    return told


def prepared(function, cases: list[tuple]) -> list[dict]:
    """What the function made of each case's layer: (path, shape, the first row that is kept, scale).

    The scale, an array, has loaded numpy before anything was measured.
    """
    return [_prepared(function, *case) for case in cases]


def prepared_and_seen(function, cases: list[tuple]) -> tuple[list[dict], list[tuple]]:
    """The same, and which steps of the function make arrays of the last case's layer: (name, line, their bytes divided
    by those of the result). See _arrays_made.
    """
    import numpy as np

    told = prepared(function, cases)
    path, shape, first, scale = cases[-1]
    layer = np.fromfile(path, "f4").reshape(shape)
    layer.flags.writeable = False
    return told, _arrays_made(function, (layer, first, scale), 4 * (shape[0] - first) * shape[1])


def _arrays_made(function, args: tuple, data: int) -> list[tuple]:
    """(name, line, times) for each bytecode of the function's file during which memory grew by `times` the bytes of the
    data, a quarter at least (numpy's buffers are less): "/", "[…]", or the name of what it called. In order of time.

    numpy tells tracemalloc of each array (numpy.lib.tracemalloc_domain); a trace function is called before each
    bytecode (sys.settrace, f_trace_opcodes). What a called function of another file makes counts for the call.
    """
    import sys
    import tracemalloc

    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    grown: dict = {}
    running = None  # (code, offset) of the bytecode that runs, and what memory was taken before it

    def settle():
        if running:
            step, before = running
            more = tracemalloc.get_traced_memory()[1] - before
            if more > data / 4:
                grown[step] = max(more / data, grown.get(step, 0))

    def watch(frame, event, _):
        nonlocal running
        if frame.f_code.co_filename != file:
            return None
        frame.f_trace_opcodes = True
        if event in ("opcode", "return"):
            settle()
            tracemalloc.reset_peak()
            now = tracemalloc.get_traced_memory()[0]
            running = ((frame.f_code, frame.f_lasti), now) if event == "opcode" else None
        return watch

    sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
    was_on = tracemalloc.is_tracing()
    tracemalloc.start()
    sys.settrace(watch)
    try:
        function(*args)
    finally:
        sys.settrace(None)
        if not was_on:
            tracemalloc.stop()
    return [(*_step(code, at), times) for (code, at), times in grown.items()]


def _step(code, offset: int) -> tuple:
    """(name, line) of the bytecode at that offset. The name of a call is that of the longest attribute or name that
    begins where the call does: so it is `flatten` in `(a / b).flatten()`.
    """
    import dis

    steps = list(dis.get_instructions(code))
    one = next(step for step in steps if step.offset == offset)
    line, _, begin, end = one.positions
    if one.opname == "BINARY_OP":
        return one.argrepr, line
    if one.opname in ("BINARY_SUBSCR", "BINARY_SLICE"):
        return "[…]", line
    if begin is None:  # under python -X no_debug_ranges
        return one.opname, line
    called = [
        (step.positions.end_lineno, step.positions.end_col_offset, str(step.argval))
        for step in steps
        if step.opname.startswith("LOAD_") and (step.positions.lineno, step.positions.col_offset) == (line, begin)
        if (step.positions.end_lineno, step.positions.end_col_offset) < (one.positions.end_lineno, end)
    ]
    return (max(called)[2] if called else one.opname), line


def _prepared(function, path: str, shape: tuple, first: int, scale) -> dict:
    """Type, dtype and shape of the result; was the scale changed, are the numbers right, or what are they instead?
    The layer lies in a map that can only be read. The result is looked at a piece at a time.
    """
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        layer = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), "f4").reshape(shape)
    given = scale.copy()
    value = function(layer, first, given)
    told = {
        "type": type(value).__name__,
        "dtype": None,
        "shape": None,
        "right": False,
        "unscaled": False,
        "by rows": False,
    }
    told["changed"] = not np.array_equal(given, scale)
    if not isinstance(value, np.ndarray):
        return told
    told |= {"dtype": str(value.dtype), "shape": value.shape}
    rows, columns = shape[0] - first, shape[1]
    if value.shape == (rows * columns,) and value.dtype == np.float32:
        found = value.reshape(columns, rows)
        told["right"] = all(  # rows, as they lie in the file: down its columns it takes five times as long
            np.allclose(found[:, at : at + 64].T, layer[first + at :][:64] / scale[at : at + 64, None], rtol=1e-5)
            for at in range(0, rows, 64)
        )
        told["unscaled"] = np.array_equal(found[0], layer[first:, 0])
        told["by rows"] = np.allclose(value[:columns], layer[first] / scale[0], rtol=1e-5)
    return told


def steps(path: str, shape: tuple) -> dict[str, dict]:
    """What is known of each step: numpy's word about the array given and the array made, and the anonymous memory of
    this process before and after, while the step's result is kept. smaps_rollup, proc_pid_smaps(5), which is exact.

    Everything made here is larger than 32 MiB, the most that malloc takes from its heap (mallopt(3), M_MMAP_THRESHOLD):
    so what is let go is given back, and the next step begins where this one did.
    """
    import mmap

    import numpy as np

    def mapped(access):
        with open(path, "rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=access), "f4").reshape(shape)

    def anonymous():
        with open("/proc/self/smaps_rollup") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Anonymous:"))

    def scale(layer):
        layer *= 2
        return layer

    layer, (rows, columns) = mapped(mmap.ACCESS_READ), shape
    made = {
        "every other row": (layer, lambda given: given[::2]),
        "transposed": (layer, lambda given: given.T),
        "repeated": (layer, lambda given: np.broadcast_to(given, (4, *shape))),
        "as integers": (layer, lambda given: given.view("i4")),
        "asked for float32": (layer, lambda given: given.astype("f4", copy=False)),
        "converted, a part kept": (layer, lambda given: given.astype("f8")[:8]),
        "transposed and flat": (layer.T, lambda given: given.reshape(-1)),
        "put in order": (layer.T, np.ascontiguousarray),
        "rows picked": (layer, lambda given: given[np.arange(rows // 8, rows)]),
        "columns picked": (layer, lambda given: given[:, np.arange(columns // 8, columns)]),
        "scaled": (layer.T, lambda given: given * 2),
        "scaled in place": (mapped(mmap.ACCESS_COPY), scale),
        "a part scaled in place": (mapped(mmap.ACCESS_COPY), lambda given: scale(given[: rows // 4])),
    }
    reports = {}
    anonymous()  # once beforehand: what a first time costs is not a step's
    for kind, (given, step) in made.items():
        before = anonymous()
        result = step(given)
        reports[kind] = {
            "dtype": (str(given.dtype), str(result.dtype)),
            "shape": (given.shape, result.shape),
            "strides": (given.strides, result.strides),
            "shares_memory": np.may_share_memory(given, result),
            "anonymous": (before, anonymous()),
        }
        del result
    return reports
