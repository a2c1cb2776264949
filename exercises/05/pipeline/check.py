"""05.pipeline: what the original makes of small layers and of a large one, with only the one copy
it needs.
"""

import secrets
import zlib

import numpy as np

from helpers.measure import Recording
from helpers.teach.judging import Attempt, NotYet, Verdict, called, within
from helpers.teach.source import Source
from helpers.units import MiB

# not a power of 2: down a column of 1024, all numbers would compete for the same lines of a CPU
# cache
COLUMNS = 1000
# rows, columns, and the first row that is kept
SMALL = ((7, 5, 0), (9, 4, 3), (5, 4, 4), (520, 500, 20))
FACTS = {  # by a piece of a line that makes arrays
    "arange": "Indexing with an array copies the rows it picks; a slice is a view.",
    "astype": "`astype` copies even if the dtype is already right, unless you say `copy=False`.",
    "flatten": (
        "`flatten` always copies; `reshape` and `ravel` don't if the numbers lie one after "
        "another in that order already."
    ),
    " / ": "`a / b` makes a new array; `a /= b` writes to `a`.",
}


def run(function, cases: list[tuple], watch: bool) -> tuple[list[dict], dict[int, float]]:
    """What the function made of each case's layer: (path, shape, the first row that is kept,
    scale). If `watch`, also which lines make arrays in the last case.

    The scale, an array, has loaded numpy before anything was measured.
    """
    import numpy as np

    told = [prepared(function, *case) for case in cases]
    if not watch:
        return told, {}
    path, shape, first, scale = cases[-1]
    layer = np.fromfile(path, "f4").reshape(shape)
    return told, lines_that_make_arrays(
        function, (layer, first, scale), 4 * (shape[0] - first) * shape[1]
    )


def prepared(function, path, shape: tuple, first: int, scale) -> dict:
    """Type, dtype, shape and numbers of the result, and the scale as the function left it. The
    layer lies in a read-only mapping.
    """
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        layer = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), "f4").reshape(
            shape
        )
    value = function(layer, first, scale)
    if not isinstance(value, np.ndarray):
        return {"array": False, "type": type(value).__name__}
    value = np.ndarray.view(value, np.ndarray)  # a subclass has no say
    told = {"array": True, "scale": scale, "dtype": str(value.dtype), "shape": value.shape}
    return told | {"numbers": numbers(value)} if value.shape == (scale.size * shape[1],) else told


def numbers(array, crc32=zlib.crc32):  # as it was before the student's code could change it
    """The numbers if they're few, otherwise the CRC-32 of each piece, so that looking takes no
    memory that counts.
    """
    import numpy as np

    if array.size <= 2**18:
        return array.copy()
    return np.array([crc32(array[at : at + 2**14].tobytes()) for at in range(0, array.size, 2**14)])


def lines_that_make_arrays(function, args: tuple, data: int) -> dict[int, float]:
    """The lines of the function's file that made memory grow -> by how many times `data` bytes, at
    the line's peak.

    numpy reports each array to tracemalloc (numpy.lib.tracemalloc_domain), and a trace function
    runs before each line (sys.settrace). What a function in another file makes counts for the line
    that calls it.
    """
    import sys
    import tracemalloc

    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    grown: dict[int, float] = {}
    line, before = 0, 0

    def watch(frame, event, _):
        nonlocal line, before
        if frame.f_code.co_filename != file:
            return None
        now, peak = tracemalloc.get_traced_memory()
        grown[line] = max((peak - before) / data, grown.get(line, 0))
        line, before = (frame.f_back if event == "return" else frame).f_lineno, now
        tracemalloc.reset_peak()
        return watch

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    sys.settrace(watch)
    try:
        function(*args)
    finally:
        sys.settrace(None)
    # numpy's buffers are smaller
    return {line: times for line, times in grown.items() if times > 0.25}


def judge(attempt: Attempt) -> Verdict:
    rows, first = attempt.size // 4 // COLUMNS + 1024, 1000 + secrets.randbelow(24)
    small = asked(attempt, "a small layer", SMALL)
    large = asked(attempt, "a large layer", ((rows, COLUMNS, first),))
    try:
        return within(
            large, int(1.1 * 4 * COLUMNS * (rows - first)), "The numbers are the original's"
        )
    except NotYet as slip:
        seen = hidden_copies(small.value[1], attempt.source)
        raise NotYet(slip.cause, f"{slip.because} {seen}", slip.figures) from None


def asked(attempt: Attempt, what: str, layers: tuple[tuple[int, int, int], ...]) -> Recording:
    """Asks the function about layers in files, and watches it on several. Raises NotYet if it was
    stopped or wrong.
    """
    rng = np.random.default_rng(secrets.randbelow(2**32))
    cases, made = [], []
    for rows, columns, first in layers:
        path = attempt.folder / f"layer-{rows}.bin"
        layer, scale = (
            rng.random((rows, columns), "f4"),
            rng.random(rows - first, "f4") + np.float32(0.5),
        )
        layer.tofile(path)
        attempt.hand_out(path)
        cases.append((path, layer.shape, first, scale))
        made.append(layer[first:] / scale[:, None])
    limit = 8 * 4 * sum(rows * columns for rows, columns, _ in layers) + 64 * MiB
    why = (
        "it wrote to the layer, whose mapping is read-only. Make the one copy first, and write to "
        "that."
    )
    means = {"read-only": ("into-the-layer", why)}
    seen = attempt.run(run, cases, len(layers) > 1, memory_limit=limit, means=means)
    for told, (*_, scale), scaled in zip(seen.value[0], cases, made, strict=True):
        must_be_prepared(told, scale, scaled, f"for {what}:")
    return seen


def must_be_prepared(told: dict, scale: np.ndarray, scaled: np.ndarray, begin: str) -> None:
    """Raises NotYet if it differs from what the original makes, the scaled rows transposed, and
    says how.
    """
    if not told["array"]:
        raise NotYet("no-array", f"{begin} expected an array, got {called(told['type'])}.")
    if not np.array_equal(told["scale"], scale):
        raise NotYet("changed-scale", f"{begin} `scale` has changed. It belongs to the caller.")
    if (told["dtype"], told["shape"]) != ("float32", (scaled.size,)):
        why = (
            f"expected float32 of shape {(scaled.size,)}, got {told['dtype']} of shape "
            f"{told['shape']}."
        )
        raise NotYet("wrong-shape", f"{begin} {why}")
    wanted = numbers(scaled.T.ravel())
    if np.array_equal(told["numbers"], wanted):
        return
    if np.array_equal(told["numbers"], numbers(scaled.ravel())):
        raise NotYet(
            "by-rows",
            f"{begin} the numbers come row by row; the original has them column by column.",
        )
    if np.allclose(told["numbers"], wanted, rtol=1e-5):
        why = (
            "the last digits of some numbers differ. Divide by the scale; multiplying by `1 / "
            "scale` rounds twice."
        )
        raise NotYet("last-digits", f"{begin} {why}")
    raise NotYet("other-numbers", f"{begin} the numbers aren't the original's.")


def hidden_copies(made: dict[int, float], function: Source) -> str:
    """Which lines of the function were seen making arrays, and why one of them does."""
    if not made:
        return "Which step makes an array that you don't return?"
    seen, text = [], ""
    for line, times in made.items():
        source = function.line(line)
        seen.append(f"line {line}{f', `{source}`' if source else ''} ({times:.2g} × the result)")
        text += source
    why = next(
        (fact for piece, fact in FACTS.items() if piece in text), "Which of them don't you need?"
    )
    return f"New arrays came from {'; '.join(seen)}. {why}"
