"""05.pipeline: what the original makes, of small layers and of a large one, with no more than the one copy it needs."""

import ast
import linecache
import secrets
from collections.abc import Sequence

import numpy as np

from helpers.measure import Recording
from helpers.teach.judging import Attempt, NotYet, Verdict, called, own_memory, within
from helpers.units import MiB

COLUMNS = 1000  # no power of 2: down a column of 1024, all numbers would compete for the same lines of a CPU cache
ONE_COPY = 1.1  # of the result
FACTS = (  # of what makes arrays, and what is true of it; the first that was seen at work is told
    (
        {"[…]", "take", "compress"},
        "An index that is an array picks its rows into a new array, even where they lie side by side. A slice is a "
        "view.",
    ),
    ({"astype"}, "`astype` makes a copy even if the dtype is right already, unless you say `copy=False`."),
    (
        {"flatten", "ravel", "reshape"},
        "`flatten` copies always; `ravel` and `reshape` copy unless the numbers lie in the order asked for already. "
        "(`a / b`, itself a new array, lies in memory as `a` does.)",
    ),
    (
        {"operator", "divide", "true_divide", "multiply"},
        "`a / b` and `np.divide` make a new array; `a /= b`, or `out=`, writes into one that is there.",
    ),
)


def run(function, cases: list[tuple], watch: bool) -> tuple[list[dict], list[tuple]]:
    """What the function made of each case's layer: (path, shape, the first row that is kept, scale). And, if it is
    asked for, what makes_arrays sees in the last case.

    The scale, an array, has loaded numpy before anything was measured.
    """
    import numpy as np

    told = [prepared(function, *case) for case in cases]
    if not watch:
        return told, []
    path, shape, first, scale = cases[-1]
    layer = np.fromfile(path, "f4").reshape(shape)
    layer.flags.writeable = False
    return told, makes_arrays(function, (layer, first, scale), 4 * (shape[0] - first) * shape[1])


def prepared(function, path: str, shape: tuple, first: int, scale) -> dict:
    """Type, dtype and shape of the result; was the scale changed, are the numbers right, or what are they instead?
    The layer lies in a map that can only be read. The result is looked at a piece at a time.
    """
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        layer = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), "f4").reshape(shape)
    given = scale.copy()
    value = function(layer, first, given)
    told = {"type": type(value).__name__, "dtype": None, "shape": None}
    told |= {"right": False, "unscaled": False, "by rows": False, "changed": not np.array_equal(given, scale)}
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


def makes_arrays(function, args: tuple, data: int) -> list[tuple]:
    """(line, its end, column, its end, times) for each expression of the function's file during which memory grew by
    `times` the bytes of the data, a quarter at least (numpy's buffers are less). In order of time.

    numpy tells tracemalloc of each array (numpy.lib.tracemalloc_domain); a trace function is called before each
    bytecode (sys.settrace, f_trace_opcodes), and code.co_positions() tells which expression it belongs to, whatever
    its name is in this Python. What a called function of another file makes counts for the call.
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
    return [(*list(code.co_positions())[at // 2], times) for (code, at), times in grown.items()]


def judge(attempt: Attempt) -> Verdict:
    rows, first = attempt.size // 4 // COLUMNS + 1024, 1000 + secrets.randbelow(24)
    small = asked(attempt, "a small layer", [(7, 5, 0), (9, 4, 3), (520, 500, 20)])
    large = asked(attempt, "a large layer", [(rows, COLUMNS, first)])
    data = 4 * COLUMNS * (rows - first)
    try:
        return within(large, int(ONE_COPY * data), "The numbers are those of the original")
    except NotYet as slip:
        times = (own_memory(large) or large.heap_peak or 0) / data
        why = (
            f"the result is right, but at the peak there was {times:.2g} times as much memory as it has bytes. One "
            f"copy is needed, and no other. {hidden_copies(small.value[1], attempt.function)}"
        )
        raise NotYet(slip.cause, why, slip.figures) from None


def asked(attempt: Attempt, what: str, layers: Sequence[tuple[int, int, int]]) -> Recording:
    """Asks the function about layers that lie in files; of each rows, columns, and the first row that is kept.
    NotYet if it was stopped or wrong. The small ones it watches."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    cases = []
    for rows, columns, first in layers:
        path = attempt.folder / f"layer-{rows}.bin"
        rng.random((rows, columns), "f4").tofile(path)
        cases.append((str(path), (rows, columns), first, rng.integers(2, 10, rows - first).astype("f4")))
    limit = 8 * 4 * sum(rows * columns for rows, columns, _ in layers) + 64 * MiB
    try:
        seen = attempt.run(run, cases, len(layers) > 1, memory_limit=limit)
    except NotYet as slip:
        if "read-only" not in slip.because:
            raise
        why = "The layer lies in a map that can only be read. Make the one copy first, and write into that."
        raise NotYet("into-the-layer", f"{slip.because}. {why}") from None
    for told, (rows, columns, first) in zip(seen.value[0], layers, strict=True):
        must_be_prepared(told, (rows - first) * columns, what)
    return seen


def must_be_prepared(told: dict, size: int, what: str) -> None:
    """NotYet says what differs from what the original makes."""
    if told["dtype"] is None:
        raise NotYet("no-array", f"for {what}: it returned {called(told['type'])}, and not an array.")
    if told["changed"]:
        raise NotYet("changed-scale", f"for {what}: `scale` has changed. It belongs to the caller.")
    if (told["dtype"], told["shape"]) != ("float32", (size,)):
        why = (
            f"expected {size:,} numbers of float32 in one dimension, got {told['dtype']} in the shape {told['shape']}."
        )
        raise NotYet("wrong-shape", f"for {what}: {why}")
    if told["by rows"] and not told["right"]:
        why = (
            "the numbers are there, but row after row, as they lie in the file. The original has them column after "
            "column: the first numbers are those of the first column."
        )
        raise NotYet("by-rows", f"for {what}: {why}")
    if not told["right"]:
        unscaled = "not divided by their row's scale." if told["unscaled"] else "not those of the original."
        raise NotYet("other-numbers", f"for {what}: the numbers are {unscaled}")


def hidden_copies(made: Sequence[tuple], function: object) -> str:
    """Which expressions of the function were seen making arrays, and why one of them does."""
    if not made:
        return "Which step makes an array that you do not return?"
    source = "".join(linecache.getlines(function.__code__.co_filename))
    steps, seen = [], set()
    for *place, times in made:
        text, kind = expression(source, *place)
        seen.add(kind)
        larger = f" ({times:.2g} times as large as the result)" if times > 1.5 else ""
        steps.append(f"{f'`{text}` in ' if text else ''}line {place[0]}{larger}")
    why = next((fact for kinds, fact in FACTS if seen & kinds), "Which of them do you not need?")
    return f"New arrays came from {', '.join(dict.fromkeys(steps))}. {why}"


def expression(source: str, line: int, last: int, column: int, end: int) -> tuple[str, str]:
    """The expression at that place, as co_positions tells it, and its kind: "operator", "[…]", or the name of what is
    called. Both are "" where the source is not known. A call may be said to begin at the last name before its bracket.
    """
    try:
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr)]
    except SyntaxError:
        return "", ""
    there = [node for node in nodes if (node.end_lineno, node.end_col_offset) == (last, end)]
    begun = [node for node in there if None not in (line, column) and (node.lineno, node.col_offset) <= (line, column)]
    if not begun:
        return "", ""
    node = max(begun, key=lambda node: (node.lineno, node.col_offset))
    text = " ".join(ast.get_source_segment(source, node).split())
    if isinstance(node, ast.Call):
        return text, getattr(node.func, "attr", getattr(node.func, "id", ""))
    return text, {ast.BinOp: "operator", ast.Subscript: "[…]"}.get(type(node), "")
