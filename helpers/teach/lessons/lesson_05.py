"""Lesson 05, copy a value only on write: its exercises and quizzes."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import numpy as np

from ...ideas.cow import Cow
from ...make import twin
from ...measure import Recording, maps, measure
from ...units import KiB, MiB, in_words
from ..carried import lesson_05 as carried
from ..exercises import Attempt, Exercise, Verdict, own_memory, within
from ..quizzes import Choice, Quiz
from . import reports
from .shared import called, is_a_number, right_for_each

# --- 05.normalise ---------------------------------------------------------------------------------------------
CLOSE = 1e-5  # a sum no further from 1 than this is 1
IDLE, ONE_COPY = 0.05, 1.1  # of the data


@dataclass(frozen=True)
class Weights:
    """Positive weights with the sum `total`. Where `every` is n they are each n-th column of a matrix in a file."""

    name: str
    shape: tuple[int, ...]
    total: float
    dtype: str = "float32"
    every: int = 1
    writable: bool = True

    @property
    def idle(self) -> bool:
        """Is there nothing to be done?"""
        return abs(self.total - 1) <= CLOSE


SOME_WEIGHTS = (
    Weights("four weights of a quarter", (4,), 1.0),
    Weights("weights whose sum is 2.5", (1000,), 2.5),
    Weights("a matrix of float64 that can only be read, with the sum 7", (40, 50), 7.0, "float64", writable=False),
    Weights("weights whose sum is 1.000003", (1000,), 1.000003, writable=False),
    Weights("every other column of a matrix, with the sum 1", (40, 50), 1.0, every=2, writable=False),
    Weights("weights whose sum is 0.9993", (1000,), 0.9993, "float64"),
    Weights("weights whose sum is 0.999992", (1000,), 0.999992, "float64", writable=False),
    Weights("weights whose sum is 1.00003", (1000,), 1.00003, "float64"),
)


def check_normalise(attempt: Attempt) -> Verdict:
    """Right for weights of all kinds; and for many, whose memory is measured: with nothing to be done, and with."""
    fault, _ = normalised(attempt, SOME_WEIGHTS)
    if fault:
        return fault
    many = (attempt.size // 4 + secrets.randbelow(KiB),)
    fault, run = normalised(attempt, [Weights("many weights whose sum is 1", many, 1.000003, writable=False)])
    idle = fault or within(run, int(IDLE * 4 * many[0]), "Where nothing was to be done, the same memory came back")
    if idle.outcome != "right":
        why = "To add up numbers takes no second array. What makes one, only to look at them?"
        return fault or replace(idle, because=f"{idle.because} {why}")
    fault, run = normalised(attempt, [Weights("many weights whose sum is 3", many, 3.0)])
    busy = fault or within(run, int(ONE_COPY * 4 * many[0]), "All weights came back divided by their sum")
    if busy.outcome != "right":
        why = "One array is needed: the one that you return. Which other is there at the same time?"
        return fault or replace(busy, because=f"{busy.because} {why}")
    figures = tuple(f"{kind}: {one.figures[0]}" for kind, one in (("sum 1", idle), ("sum 3", busy)) if one.figures)
    return replace(busy, because=f"{busy.because} Where the sum was 1 already, nothing was copied.", figures=figures)


def normalised(attempt: Attempt, kinds: Sequence[Weights]) -> tuple[Verdict | None, Recording]:
    """Asks the function about all of these, in one fresh process; "not yet" if it was stopped or wrong, else None."""
    cases = []
    for at, kind in enumerate(kinds):
        path = attempt.folder / f"weights-{at}.bin"
        parts = np.random.default_rng(secrets.randbelow(2**32)).integers(1, 256, kind.shape, "u1")
        if parts.size == 4:
            parts[:] = 1  # so that their sum is exactly the total
        stored = np.full((*kind.shape[:-1], kind.shape[-1] * kind.every), 9, kind.dtype)
        stored[..., :: kind.every] = parts * stored.dtype.type(kind.total / parts.sum())
        stored.tofile(path)
        cases.append((str(path), kind.dtype, kind.shape, kind.every, kind.writable))
    bytes_of_all = sum(prod(kind.shape) * 8 for kind in kinds)
    run = attempt.measure(carried.normalised, cases, np.float64(1), memory_limit=4 * bytes_of_all + 64 * MiB)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped, run
    for kind, told in zip(kinds, run.value, strict=False):
        raised = attempt.unless_returned(replace(run, ended="raised", error=told)) if isinstance(told, str) else None
        if raised and "read-only" in told:
            lent = "They lie in a map that can only be read: whoever lent them wants to keep them as they are."
            raised = replace(raised, because=f"{raised.because}. {lent}")
        why = raised.because if raised else not_normalised(told, kind)
        if why:
            return Verdict("not yet", f"for {kind.name}: {why}", recording=run), run
    return None, run


def not_normalised(told: dict, kind: Weights) -> str | None:
    """None if the function did with the weights what it should; else what the slip was, as far as it shows."""
    if told["changed"]:
        return (
            "the array that was given has changed. It is not yours: somebody else may need its numbers. Write into an "
            "array of your own."
        )
    if told["dtype"] is None:
        return f"it returned {called(told['type'])}, and not an array."
    if told["dtype"] != kind.dtype:
        advice = (
            " A sum made with `dtype` float64 is a scalar of numpy's, which has a dtype and makes the quotient one of "
            "float64, too; `float(…)` makes a number without."
            if told["dtype"] == "float64"
            else ""
        )
        return f"the weights are `{kind.dtype}`, and you returned `{told['dtype']}`.{advice}"
    if told["shape"] != kind.shape:
        return f"the weights have the shape {kind.shape}, and you returned one of {told['shape']}."
    if kind.idle and not told["same"]:
        if kind.total == 1 and kind.every == 1:
            return "their sum is 1, and yet you returned another array. Look first, and copy only if you must."
        if kind.every > 1:
            return (
                "they were to come back as they are, and you made a copy: these do not lie side by side in memory. To "
                "add them up, and to return them, they need not."
            )
        return (
            f"you returned another array. In floating point a sum is seldom exactly 1: what is no further from it than "
            f"{CLOSE:.5f} counts as 1."
        )
    if not kind.idle and told["same"]:
        return f"you returned them as they are, but their sum is {kind.total:g}, which is not 1."
    if not abs(told["sum"] - 1) <= 2 * CLOSE:  # not a number is wrong as well
        return f"the sum of what you returned is {told['sum']:g}."
    if not told["even"]:
        return (
            "the sum of what you returned is 1, but the weights are not in proportion: divide all by the same number."
        )
    return None


def answer(head: str, *lines: str) -> str:
    """A student's function with these lines."""
    return "\n    ".join((f"def {head}:", "import numpy as np", *lines)) + "\n"


normalise_by = partial(answer, "normalise(weights)")


NORMALISE = Exercise(
    key="05.normalise",
    title="normalise weights, but only if you must",
    minutes=12,
    prompt="""
The weights of a model are to have the sum 1. In most files they do, in some they do not. Write `normalise(weights)`, \
for an array of float32 or float64 whose sum is not 0.

- If their sum is no further from 1 than 0.00001, it returns **the very same memory**: nothing is copied, and \
anonymous memory grows by less than 5 % of the data.
- Else it returns a new array of the same dtype and shape, each weight divided by the sum. Anonymous memory grows by \
at most 1.1 times the data.
- Both times it returns them, or a `Cow` of them.
- The array that was given never changes. It may lie in a map that can only be read, and its numbers need not lie \
side by side.

The check hands your function small arrays of several kinds first, then 64 MiB of weights that lie in a mapping.
""",
    starter='''def normalise(weights):
    """The weights with the sum 1: the same memory if they have it already."""
    ...
''',
    judge=check_normalise,
    hints=(
        "Three lines: the sum, the question, the quotient. Which of numpy's steps makes an array, and which only a "
        "number?",
        "Return `weights` itself if `abs(total - 1) <= 1e-5`. In `weights / total`, what decides on the dtype of the "
        "quotient if `total` is a Python float, and what if it is a scalar of numpy's?",
    ),
    solution_source='''def normalise(weights):
    """The weights with the sum 1: the same memory if they have it already."""
    total = float(weights.sum(dtype="f8"))  # a Python float: one of numpy's would make the quotient float64
    return weights if abs(total - 1) <= 1e-5 else weights / total
''',
    wrong=(
        (
            normalise_by(
                'total = float(weights.sum(dtype="f8"))',
                "return weights if abs(total - 1) <= 5e-4 else weights / total",
            ),
            "returned them as they are, but their sum is 1.00003",
        ),
        (normalise_by("return weights / weights.sum()"), "Look first, and copy only if you must"),
        (normalise_by("weights /= weights.sum()", "return weights"), "It is not yours"),
        (
            normalise_by(
                "total = float(weights.sum())",
                "if abs(total - 1) > 1e-5: np.divide(weights, total, out=weights if weights.flags.writeable else None)",
                "return weights",
            ),
            "It is not yours",
        ),
        (
            normalise_by(
                "if weights.flags.writeable and abs(weights.sum() - 1) > 1e-5: weights = weights.copy()",
                "if abs(weights.sum() - 1) > 1e-5: weights /= weights.sum()",
                "return weights",
            ),
            "whoever lent them wants to keep them",
        ),
        (
            normalise_by("total = weights.sum()", "return weights if total == 1 else weights / total"),
            "a sum is seldom exactly 1",
        ),
        (
            normalise_by("total = weights.sum()", "return weights if round(total, 2) == 1 else weights / total"),
            "as they are, but their sum is 0.9993",
        ),
        (
            normalise_by(
                'total = weights.sum(dtype="f8")', "return weights if abs(total - 1) <= 1e-5 else weights / total"
            ),
            "which has a dtype and makes the quotient",
        ),
        (
            normalise_by(
                "weights = np.ascontiguousarray(weights)",
                "total = float(weights.sum())",
                "return weights if abs(total - 1) <= 1e-5 else weights / total",
            ),
            "these do not lie side by side",
        ),
        (
            normalise_by(
                'total = float(weights.astype("f8").sum())',
                "return weights if abs(total - 1) <= 1e-5 else weights / total",
            ),
            "To add up numbers takes no second array",
        ),
        (
            normalise_by(
                "result = weights / float(weights.sum())",
                "return weights if np.allclose(result, weights, rtol=1e-5) else result",
            ),
            "To add up numbers takes no second array",
        ),
        (
            normalise_by(
                'total = weights.sum(dtype="f8")',
                "return weights if abs(total - 1) <= 1e-5 else (weights / total).astype(weights.dtype)",
            ),
            "Which other is there at the same time",
        ),
        (
            normalise_by(
                "if abs(weights.sum() - 1) <= 1e-5: return weights",
                "low, high = weights.min(), weights.max()",
                "return (weights - low) / (high - low)",
            ),
            "the sum of what you returned is",
        ),
        (normalise_by("total = float(weights.sum())", "weights = weights / total"), "it returned nothing"),
        (
            normalise_by(
                "from helpers.ideas.cow import Cow",
                "mine = Cow.borrowed(weights)",
                "total = float(weights.sum())",
                "mine.to_mut()[:] /= total",
                "return mine",
            ),
            "Look first, and copy only if you must",
        ),
    ),
    size=64 * MiB,
)


# --- 05.pipeline ----------------------------------------------------------------------------------------------
COLUMNS = 1000  # no power of 2: down a column of 1024, all numbers would compete for the same lines of a CPU cache


def check_pipeline(attempt: Attempt) -> Verdict:
    """What the original makes, of small layers and of a large one; of the large one with no more than one copy."""
    rows, columns, first = attempt.size // 4 // COLUMNS + 1024, COLUMNS, 1000 + secrets.randbelow(24)
    made: list[tuple[str, int, float]] = []
    for does, runner, layers in (  # of each layer rows, columns, the first row that is kept
        ("a small layer", carried.prepared_and_seen, [(7, 5, 0), (9, 4, 3), (520, 500, 20)]),
        ("a large layer", carried.prepared, [(rows, columns, first)]),
    ):
        run = prepared(attempt, runner, layers)
        stopped = attempt.unless_returned(run)
        if stopped and "read-only" in (run.error or ""):
            why = "The layer lies in a map that can only be read. Make the one copy first, and write into that."
            return replace(stopped, because=f"{stopped.because}. {why}")
        if stopped:
            return stopped
        told, made = run.value if runner is carried.prepared_and_seen else (run.value, made)
        faults = [not_prepared(one, (m - k) * n) for one, (m, n, k) in zip(told, layers, strict=True)]
        if any(faults):
            return Verdict("not yet", f"for {does}: {next(filter(None, faults))}", recording=run)
    data = 4 * columns * (rows - first)
    verdict = within(run, int(ONE_COPY * data), "The numbers are those of the original")
    if verdict.outcome == "right":
        return verdict
    times = (own_memory(run) or run.heap_peak or 0) / data
    extra = {0: "a part of a copy", 1: "one copy"}.get(round(times) - 1, f"{round(times) - 1} copies")
    why = (
        f"the result is right, but at the peak there was {times:.2g} times as much memory as it has bytes: {extra} too "
        f"many. {hidden_copy(made)}"
    )
    return replace(verdict, because=why)


def prepared(attempt: Attempt, runner: Callable, layers: Sequence[tuple[int, int, int]]) -> Recording:
    """The function's way with layers that lie in files; of each rows, columns, and the first row that is kept."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    cases = []
    for rows, columns, first in layers:
        path = attempt.folder / f"layer-{rows}.bin"
        rng.random((rows, columns), "f4").tofile(path)
        cases.append((str(path), (rows, columns), first, rng.integers(2, 10, rows - first).astype("f4")))
    limit = 8 * 4 * sum(rows * columns for rows, columns, _ in layers) + 64 * MiB
    return attempt.measure(runner, cases, memory_limit=limit)


def not_prepared(told: dict, size: int) -> str | None:
    """None for what the original makes; else what differs."""
    if told["dtype"] is None:
        return f"it returned {called(told['type'])}, and not an array."
    if told["changed"]:
        return "`scale` has changed. It belongs to the caller."
    if (told["dtype"], told["shape"]) != ("float32", (size,)):
        return (
            f"the original returns {size:,} numbers of float32 in one dimension; yours have the dtype {told['dtype']} "
            f"and the shape {told['shape']}."
        )
    if told["right"]:
        return None
    if told["by rows"]:
        return (
            "the numbers are there, but row after row, as they lie in the file. The original has them column after "
            "column: the first `rows` numbers are the first column."
        )
    if told["unscaled"]:
        return "the numbers are not divided by their row's scale."
    return "the numbers are not those of the original."


FACTS = (  # of what makes arrays, and what is true of it; the first that was seen at it is told
    (
        ("[…]", "take", "compress"),
        "An index that is an array picks its rows into a new array, even where they lie side by side. A slice is a "
        "view.",
    ),
    (
        ("astype",),
        "`astype` makes a copy even if the dtype is right already, unless it is told `copy=False`; where the dtype is "
        "another one it must.",
    ),
    (("flatten",), "`flatten` always copies; `ravel` and `reshape` do only if they must."),
    (
        ("ravel", "reshape"),
        "`ravel` and `reshape` return a view only where the numbers lie in the order asked for already, and `a / b`, "
        "itself a new array, lies in memory as `a` does. `a /= b` makes none.",
    ),
    (
        ("/", "*", "divide", "true_divide", "multiply"),
        "`a / b` and `np.divide` make a new array; `a /= b`, or `out=`, writes into one that is there.",
    ),
    (("array", "copy"), "`np.array` and `copy` copy always, `np.asarray` only if it must."),
)


def hidden_copy(made: Sequence[tuple[str, int, float]]) -> str:
    """Which steps of the function were seen making arrays, (name, line, their size in results), and why one of them."""
    if not made:
        return "Which step makes an array that you do not return?"
    steps = [
        f"`{name}` in line {line}{f' ({times:.2g} times as large)' if times > 1.5 else ''}"
        for name, line, times in made
    ]
    seen = {name for name, _, _ in made}
    why = next((fact for makers, fact in FACTS if seen.intersection(makers)), "Which of them do you not need?")
    return f"New arrays came from {', '.join(steps)}. {why}"


prepare_by = partial(answer, "prepare(layer, first, scale)")


PIPELINE = Exercise(
    key="05.pipeline",
    title="find three hidden copies",
    minutes=15,
    prompt="""
`prepare(layer, first, scale)` works, and takes four times the memory that it should. `layer` is a matrix of float32 \
that lies in a read-only map of a file. `prepare` leaves out the rows before `first`, divides each of the others by \
its scale, and returns all numbers in one dimension, column after column. `scale` is float32, too: one number for each \
row that is kept.

One copy is needed: in the file the numbers lie row after row. Three others hide. Mend `prepare`.

- It returns the same array as before: float32, the same numbers in the same order. `layer` and `scale` do not change.
- Anonymous memory grows by at most 1.1 times the bytes of the result.
""",
    starter='''def prepare(layer, first, scale):
    """The rows from `first` on, each divided by its scale: column after column."""
    import numpy as np

    rows = layer[np.arange(first, len(layer))]
    exact = rows.astype("float32")
    scaled = exact.T / scale
    return scaled.flatten()
''',
    judge=check_pipeline,
    hints=(
        "Ask of each line whether its result shares memory with what it was made from (`np.shares_memory`), and if it "
        "does not, why. One line could do with a view; another changes nothing at all.",
        "After `layer[first:].T` let one step copy: it puts the numbers in order (`np.ascontiguousarray`). From then "
        "on, work in place (`/=`), and flatten with what makes a view if it can.",
    ),
    solution_source='''def prepare(layer, first, scale):
    """The rows from `first` on, each divided by its scale: column after column."""
    import numpy as np

    turned = np.ascontiguousarray(layer[first:].T)  # the one copy: column after column
    turned /= scale
    return turned.reshape(-1)  # a view: the numbers lie in this order already
''',
    wrong=(
        (
            prepare_by("rows = layer[np.arange(first, len(layer))]", "return (rows.T / scale).flatten()"),
            "A slice is a view",
        ),
        (
            prepare_by('rows = layer[first:].astype("float32")', "return (rows.T / scale).flatten()"),
            "even if the dtype is right already",
        ),
        (
            prepare_by(
                'rows = layer[first:].astype("float32", copy=False)',
                "scaled = rows.T / scale",
                "return scaled.flatten()",
            ),
            "/ in line 4, flatten in line 5. flatten always copies",
        ),
        (
            prepare_by('turned = layer[first:].T.copy(order="C")', "turned /= scale", "return turned.flatten()"),
            "copy in line 3, flatten in line 5. flatten always copies",
        ),
        (
            prepare_by('return (layer[first:] / scale[:, None]).ravel(order="F")'),
            "/ in line 3, ravel in line 3. ravel and reshape return a view only where",
        ),
        (
            prepare_by('return np.ascontiguousarray((layer[first:].T / scale.astype("f8")).astype("f4")).reshape(-1)'),
            "/ in line 3 (2",
        ),
        (
            prepare_by("return (layer[first:].T / scale).flatten()"),
            "/ in line 3, flatten in line 3. flatten always copies",
        ),
        (
            prepare_by("return (layer[first:].T / scale).ravel()"),
            "and a / b, itself a new array, lies in memory as a does",
        ),
        (
            prepare_by("turned = np.ascontiguousarray(layer[first:].T)", "return (turned / scale).reshape(-1)"),
            "ascontiguousarray in line 3, / in line 4. a / b and np.divide make a new array",
        ),
        (
            prepare_by("rows = layer[first:]", "rows /= scale[:, None]", "return rows.T.ravel()"),
            "Make the one copy first",
        ),
        (prepare_by("return (layer[first:] / scale[:, None]).reshape(-1)"), "row after row, as they lie in the file"),
        (prepare_by("return np.ascontiguousarray(layer[first:].T).reshape(-1)"), "not divided by their row's scale"),
        (prepare_by("return np.ascontiguousarray(layer[first:].T) / scale"), "in one dimension; yours have"),
        (prepare_by("return (layer[first:].T.astype('f8') / scale).flatten()"), "yours have the dtype float64"),
        (
            prepare_by("turned = np.array(layer[first:].T, order='C')", "return np.divide(turned, scale).reshape(-1)"),
            "array in line 3, divide in line 4. a / b and np.divide make",
        ),
        (
            prepare_by(
                "turned = np.ascontiguousarray(layer[first:].T)",
                "turned *= np.reciprocal(scale, out=scale)",
                "return turned.reshape(-1)",
            ),
            "scale has changed",
        ),
    ),
    size=64 * MiB,
)


# --- 05.report ------------------------------------------------------------------------------------------------
STEPS = {
    "every other row": "takes every other row",
    "transposed": "transposes the array",
    "repeated": "shows the array four times, with np.broadcast_to",
    "as integers": "looks at the same bytes as integers",
    "asked for float32": "asks for float32, with astype and copy=False",
    "converted, a part kept": "converts the array to float64 and keeps the first eight rows",
    "transposed and flat": "makes one dimension of a transposed array",
    "put in order": "makes a transposed array contiguous",
    "rows picked": "picks rows by an array of their numbers",
    "columns picked": "picks columns by an array of their numbers",
    "scaled": "multiplies all numbers by 2",
    "scaled in place": "multiplies all numbers by 2, in place",
    "a part scaled in place": "multiplies a quarter of the rows by 2, in place, and returns them",
}
CAUSES = ("view", "write", "dtype", "fancy", "layout", "values")


def check_report(attempt: Attempt) -> Verdict:
    """Right for thirteen steps, taken for this check; where anonymous memory cannot be read, for recorded ones."""
    live = {} if maps.why_not() else live_steps(attempt)
    steps = live or reports.STEPS
    figures = tuple(
        f"{kind}: {in_words(taken(report), 'bytes')}" for kind, report in steps.items() if taken(report) > MiB
    )
    where = "taken a moment ago" if live else "recorded on another machine: they cannot be measured here"
    done = f"You explained {len(steps)} steps, {where}. A copy is made because something had to become different."
    cases = {kind: (report,) for kind, report in steps.items()}
    verdict = right_for_each(attempt, cases, misread, "a step that", STEPS, done, figures)
    if "'dict' object has no attribute" in verdict.because:
        why = '`report` is a dict: its entries are found by `report["anonymous"]`, and not by a dot.'
        return replace(verdict, because=f"{verdict.because}. {why}")
    return verdict


def live_steps(attempt: Attempt) -> dict[str, dict]:
    """What a process found that took all the steps. OSError if it failed."""
    shape = (10 * KiB + 8 * secrets.randbelow(128), COLUMNS)
    path = attempt.folder / "weights.bin"
    with path.open("wb") as file:
        file.truncate(4 * prod(shape))  # a hole: zeros that take no room on the disk
    run = measure(carried.steps, str(path), shape, name="the steps")
    if run.ended != "returned":
        raise OSError(f"the steps to be explained did not run: {run.ending}")
    return run.value


def taken(report: dict) -> int:
    """Bytes of anonymous memory that the step has taken."""
    before, after = report["anonymous"]
    return after - before


def cause(report: dict) -> str:
    """Which of CAUSES it is: the first that applies."""
    (dtype, made), (shape, other), (strides, orders) = report["dtype"], report["shape"], report["strides"]
    why = (
        taken(report) < MiB,
        report["shares_memory"],
        dtype != made,
        prod(shape) != prod(other),
        strides != orders,
        True,
    )
    return CAUSES[why.index(True)]


def misread(given: object, report: dict) -> str | None:
    """None for the right answer; else what the slip was, as far as the report tells."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        words = ", ".join(map(repr, CAUSES))
        return f"it returned {given!r}. Return two things: the bytes taken, and one of {words}."
    right, word = taken(report), cause(report)
    lent, made = (
        prod(shape) * np.dtype(dtype).itemsize for shape, dtype in zip(report["shape"], report["dtype"], strict=True)
    )
    slips = (
        (report["anonymous"][1], "That is what the process had after the step. What had it before?"),
        (-right, "What was taken is after − before."),
        (right / MiB, "That is in MiB. Give bytes."),
        (
            made,
            "That is what the result shows. A view shows bytes that were there before, and a small view may keep a "
            "large array. Look at the memory of the process.",
        ),
        (0, "What shares memory can cost memory, too: in a private map each page that is written is copied."),
        (
            lent,
            "That is what the array has that was given. The step may have copied more of it, or less.",
        ),
    )
    if given[0] != right and not (given[0] == 0 and word == "view"):
        told = next((text for figure, text in slips if figure == given[0]), "Which two figures count copied bytes?")
        return f"you gave {in_words(given[0], 'bytes')} as taken. {told}"
    if given[1] != word:
        return f"the bytes are right, but not the word {given[1]!r}. {BECAUSE[word]}"
    return None


BECAUSE = {
    "view": "Nothing was copied, and so there is no copy to be explained: the same bytes are only seen differently.",
    "write": "Nobody made a new array: the result lies where the array given lay, and its pages became anonymous.",
    "dtype": "The result has another dtype, so the numbers had to be converted. In the list this comes first.",
    "fancy": "Numbers are missing, and those that were picked lie in a new array. How many there are tells it; their "
    "strides may have changed as well.",
    "layout": "All numbers are there, in the same dtype, but in another order in memory.",
    "values": "Dtype, number and order in memory are the same. Only the numbers can be new.",
}


def printed(report: dict) -> str:
    """A report as code of a prompt."""
    lines = [f"{repr(name) + ':':<16} {value!r}," for name, value in report.items()]
    return "\n     ".join(("    {" + lines[0], *lines[1:]))[:-1] + "}"


def explain_by(count: str, *rules: str) -> str:
    """An answer to 05.report that takes the bytes and the cause from this."""
    return (
        "\n    ".join(
            (
                "def explain(report):",
                "from math import prod",
                'before, after = report["anonymous"]',
                'same = {name: report[name][0] == report[name][1] for name in ("dtype", "shape", "strides")}',
                'fewer = prod(report["shape"][1]) != prod(report["shape"][0])',
                'shares = report["shares_memory"]',
                f"taken = {count}",
                *rules,
            )
        )
        + "\n"
    )


IS_VIEW = 'if after - before < 2**20: return taken, "view"'
IS_WRITE = 'if shares: return taken, "write"'
IS_DTYPE = 'if not same["dtype"]: return taken, "dtype"'
IS_FANCY = 'if fewer: return taken, "fancy"'
IS_LAYOUT = 'if not same["strides"]: return taken, "layout"'
IS_VALUES = 'return taken, "values"'
RULES = (IS_VIEW, IS_WRITE, IS_DTYPE, IS_FANCY, IS_LAYOUT, IS_VALUES)
SHOWN = '(prod(report["shape"][1]) * (8 if "64" in report["dtype"][1] else 4))'

REPORT = Exercise(
    key="05.report",
    title="explain a doubled memory use",
    minutes=12,
    prompt=f"""
“Our service maps its weights. Since last week it takes twice their size all the same.” A colleague wrote down what \
each step that was changed makes of its array, and how much anonymous memory the process had before and after. One of \
them:

{printed(reports.STEPS["put in order"])}

In each pair the first is the array given, the second the array made; strides are bytes from one element to the next, \
along each dimension; `anonymous` is bytes before and after. Write `explain(report)`; `report` is such a dict. It \
returns two things:

- **taken**: bytes of anonymous memory that the step took,
- one word, the first that applies: `"view"` if it took next to nothing (less than 1 MiB); `"write"` if it wrote to \
pages of a private map, and so copied them; `"dtype"` if it copied to get another dtype; `"fancy"` if it made fewer \
numbers than it was given (picked by a list of indices or a mask); `"layout"` if it copied to get another order in \
memory; `"values"` if it made new numbers.

The check asks your function about thirteen steps.
""",
    starter='''def explain(report):
    """(bytes taken, word) from what a step was given and what it made."""
    ...
''',
    judge=check_report,
    hints=(
        "Put the words in the order of the list, and ask for each: which line of the report tells it? A view may well "
        "have another dtype, another shape and other strides: so first ask what was taken.",
        '`"write"` is memory that was taken although the result shares memory with what was given. For `"fancy"` '
        'compare the number of elements, `math.prod(shape)`; for `"layout"` the strides.',
    ),
    solution_source='''def explain(report):
    """(bytes taken, word) from what a step was given and what it made."""
    from math import prod

    before, after = report["anonymous"]
    taken = after - before
    given, made = zip(report["dtype"], map(prod, report["shape"]), report["strides"])
    if taken < 2**20:
        return taken, "view"
    if report["shares_memory"]:
        return taken, "write"
    for word, one, other in zip(("dtype", "fancy", "layout"), given, made):
        if one != other:
            return taken, word
    return taken, "values"
''',
    wrong=(
        (explain_by("after", *RULES), "What had it before?"),
        (explain_by("before - after", *RULES), "What was taken is after − before"),
        (explain_by("(after - before) / 2**20", *RULES), "Give bytes"),
        (explain_by(f"0 if shares else {SHOWN}", *RULES), "a small view may keep a large array"),
        (explain_by("0 if shares else after - before", *RULES), "in a private map each page that is written is copied"),
        (
            explain_by('prod(report["shape"][0]) * 4 if after - before > 2**20 else 0', *RULES),
            "The step may have copied more of it",
        ),
        (explain_by("after - before", IS_DTYPE, IS_VIEW, *RULES[1:]), "not the word 'dtype'. Nothing was copied"),
        (explain_by("after - before", IS_VIEW, *RULES[2:]), "not the word 'values'. Nobody made a new array"),
        (
            explain_by("after - before", *RULES[:2], IS_FANCY, *RULES[2:]),
            "not the word 'fancy'. The result has",
        ),
        (explain_by("after - before", *RULES[:3], IS_LAYOUT, *RULES[3:]), "not the word 'layout'. Numbers are missing"),
        (
            explain_by("after - before", *RULES[:4], IS_LAYOUT.replace("strides", "shape"), IS_VALUES),
            "not the word 'values'. All numbers are there",
        ),
        (
            explain_by("after - before", *RULES[:4], 'return taken, "layout"'),
            "not the word 'layout'. Dtype, number and order",
        ),
        (explain_by("after - before", "return taken"), "Return two things"),
        (
            "def explain(report):\n    before, after = report.anonymous\n    return after - before, 'view'\n",
            'found by report["anonymous"], and not by a dot',
        ),
    ),
)

EXERCISES = (NORMALISE, PIPELINE, REPORT)


# --- quizzes --------------------------------------------------------------------------------------------------
def changed_by_a_shallow_clone() -> int:
    """1 if the array written in place has changed for the lender, too, and the one that was replaced has not."""
    theirs = {"a": np.ones(4), "b": np.ones(4)}
    mine = Cow.borrowed(theirs).to_mut()
    mine["a"] *= 2
    mine["b"] = mine["b"] * 2
    changed = [bool((theirs[name] != 1).any()) for name in "ab"]
    return [[False, False], [True, False], [False, True], [True, True]].index(changed)


def owner_of_its_result() -> int:
    """Which of the four operations on an array in C order makes one that shares no memory with it."""
    a = np.arange(12.0).reshape(3, 4)
    made = (a[::-1, ::2], a.T, a.T.reshape(-1), a.reshape(-1)[2:].reshape(2, 5))
    return [np.shares_memory(one, a) for one in made].index(False)


def capacity_of_nothing() -> int:
    """2 if an owned, empty string has the capacity 0. The capacity is the word that is 16 in one with room for 16."""
    figures = twin("cow").figures
    roomy, empty = (
        [int(str(value), 0) for name, value in figures[f"words: owned{kind}"].items() if name.startswith("word ")]
        for kind in (" beef", ", empty")
    )
    return 2 if empty[roomy.index(16)] == 0 else 1


QUIZZES = (
    Quiz(
        "05.shallow",
        'A dict is lent: `theirs = {"a": array, "b": array}`. `mine = Cow.borrowed(theirs).to_mut()` clones '
        'it. Then follow `mine["a"] *= 2` and `mine["b"] = mine["b"] * 2`. What has changed in `theirs`?',
        (
            Choice(
                "Nothing: a clone is a copy of everything.",
                False,
                "A clone is what its type says. That of a dict has a table of its own, and in it the same two arrays: "
                "their bytes are not copied, or else it would not be cheap.",
            ),
            Choice(
                'Only `"a"`: the dict is cloned, the arrays in it are not.',
                True,
                "Yes. `*=` writes into the array that both dicts name; the assignment puts a new array into the table "
                "that is mine. It is the same with a list of lists. What lies deeper must be cloned by itself, or be "
                "lent read-only.",
            ),
            Choice(
                'Only `"b"`: it is the one that was assigned.',
                False,
                "The assignment writes into a dict, and that one is the clone. Which line writes into an array?",
            ),
            Choice(
                "Both: Python passes everything by reference.",
                False,
                "Both dicts refer to the same arrays at first, but they are two. Replacing an entry of one leaves the "
                "other as it was.",
            ),
        ),
        changed_by_a_shallow_clone,
    ),
    Quiz(
        "05.views",
        "`a` is a matrix in C order. Only one of these makes an array with bytes of its own. Which, and why?",
        (
            Choice(
                "`a[::-1, ::2]`: its rows stand in the opposite order, and every other column is missing.",
                False,
                "An array is an address and a step for each dimension. Begin at the last row, step back a row, and two "
                "columns ahead: nothing has to move.",
            ),
            Choice(
                "`a.T`: the rows become columns.",
                False,
                "Transposing swaps the two steps. The bytes stay; only who reads them goes another way.",
            ),
            Choice(
                "`a.T.reshape(-1)`: no single step leads from each number to the next.",
                True,
                "Yes. In one dimension there is one step, always the same. Down a column of a C array it is a row, and "
                "at the column's end it is back to the top. So `reshape` copies, and says nothing.",
            ),
            Choice(
                "`a.reshape(-1)[2:].reshape(2, 5)`: the new rows begin and end in the middle of old ones.",
                False,
                "In memory a C array has no rows, only numbers, side by side. To count by 5 and not by 4 moves none. "
                "(`a` is 3 × 4 here.)",
            ),
        ),
        owner_of_its_result,
    ),
    Quiz(
        "05.capacity",
        "The crate beef needs no word for the tag of a Cow: what has the capacity 0 is borrowed. Why can the Cow of "
        "Rust's standard library not do the same?",
        (
            Choice(
                "Because a borrowed string has a capacity too, which may be anything.",
                False,
                "What is borrowed is an address and a length. There is no capacity, so the third word is free: that is "
                "where the room for the mark comes from.",
            ),
            Choice(
                "Because the compiler does not know that a word is free.",
                False,
                "It does: since a capacity can be half of all numbers at most, newer compilers put the tag among the "
                "others. That is how four words became three. But 0 is a capacity that does occur.",
            ),
            Choice(
                "Because an empty `String` that is owned has the capacity 0 as well.",
                True,
                "Yes. beef says that it is borrowed, and nobody is hurt: there is nothing to free. But the standard "
                "library's Cow is an enum that everybody may match on, and what was put in as `Owned` must come out as "
                "`Owned`.",
            ),
            Choice(
                "Because the memory of what is owned could not be freed any more.",
                False,
                "What is owned and has bytes has a capacity above 0, and so it is found and freed. What has none, has "
                "nothing to be freed.",
            ),
        ),
        capacity_of_nothing,
    ),
)
