"""Lesson 06, dispatch at run time: its exercises and quizzes."""

import ctypes
import math
import secrets
import timeit
from dataclasses import replace

import numpy as np

from ...ideas import dispatch, vtable
from ...make import twin
from ...units import MiB, in_words
from ..carried import lesson_06 as carried
from ..exercises import Attempt, Exercise, Verdict
from ..quizzes import Choice, Quiz
from .shared import called

# --- 06.registry ----------------------------------------------------------------------------------------------
FEW, MANY = 8, 200  # types registered
UNREGISTERED = {
    "exact": "of a type that is registered itself. `run` calls what was registered for the value's type, with the "
    "value, and returns what comes back.",
    "subclass": "of a type that came later, a subclass of a registered one. Nothing is registered for the type itself, "
    "so a base class decides: `type(value).__mro__` has all of them, the nearest first.",
    "nearest": "of a type that has two registered base classes, or is registered itself beside its base. The nearest "
    "decides, in whatever order they were registered.",
    "order": "of `class Both(Left, Right)`, where `Right` and `Text`, the base of both, are registered. The order in "
    "which Python looks through base classes is `type(value).__mro__`: Both, Left, Right, Text.",
    "later": "of a type that got a function of its own after `run` had met it. What you remember of a type must be "
    "forgotten when something is registered.",
    "again": "of a type for which a function was registered a second time. The last one counts.",
    "namesake": "of one of two types that are both named `Text`, from two plugins. A name does not tell them apart, "
    "the type object does.",
    "unknown": "of a type that is not registered, nor a base of it. That is a `TypeError`.",
    "nameless": "of an unknown type, a float. The right kind of error, but it does not say which type it was: put the "
    "type's name into the message.",
    "error": "whose registered function fails with an error of its own (`KeyError`, `TypeError`, …). That error is the "
    "plugin's and has to come through; what do you catch?",
    "none": "whose registered function returns `None`. That is a result like any other.",
    "twice": "whose registered function notes each call. It must be called once.",
    "apart": "that is registered in another registry, made by another call of `registry()`. Two registries have "
    "nothing in common: where does yours keep its functions?",
}


def check_registry(attempt: Attempt) -> Verdict:
    """The right function for each value, and no more steps with 200 types than with 8."""
    run = attempt.measure(carried.registered, FEW, MANY, memory_limit=256 * MiB)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    told = run.value
    if told["case"] == "pair":
        why = f"`registry()` returned {told['got']}. It returns two functions: `return register, run`."
        return Verdict("not yet", why, recording=run)
    if told["case"]:
        came, right = told["got"] or "nothing", f", where {told['wanted']!r} is right" if told["wanted"] else ""
        why = f"`run` gave {came!r}{right}, for a value {UNREGISTERED[told['case']]}"
        return Verdict("not yet", why, recording=run)
    (few, few_asked), (many, many_asked) = told["few"], told["many"]
    figures = (
        f"{FEW} types: {few} steps of Python for a value",
        f"{MANY} types: {many} steps",
        "1 question to a type" if many_asked == 1 else f"{many_asked} questions to types",
    )
    if many_asked > few_asked + 10:
        why = (
            f"every value gets its function, but with {MANY} types registered, a single `run` put {many_asked} "
            "questions to them (isinstance, issubclass, or ==): is the value yours? Ask the value for its type, and "
            "look that up."
        )
        return Verdict("not yet", why, figures, run)
    if many > 2 * few + 50:
        why = (
            f"every value gets its function, but a `run` takes {few} steps with {FEW} types registered, and {many} "
            f"with {MANY}: it walks through what is registered. Walk through the value's base classes instead, and "
            "look each of them up."
        )
        return Verdict("not yet", why, figures, run)
    done = (
        f"Every value gets its function, and with {MANY} types registered that costs what it costs with {FEW}. This is "
        "what `functools.singledispatch` does."
    )
    return Verdict("right", done, figures, run)


def registry_by(
    run: str, keep: str = "table[kind] = function", table: str = "table = {}", given: str = "", more: str = ""
) -> str:
    """An answer to 06.registry, from the bodies of its functions, a line each."""
    body = "\n".join(f"        {line}" for line in run.splitlines())
    return f"""def registry({given}):
    {table}

    def register(kind, function):
        {keep}
        {more}

    def run(value):
{body}
        raise TypeError(f"nothing is registered for {{type(value).__name__}}")

    return register, run
"""


BY_MRO = """for kind in type(value).__mro__:
    if kind in table:
        return table[kind](value)"""
REGISTRY = Exercise(
    key="06.registry",
    title="a plugin registry that asks no type",
    minutes=12,
    prompt="""
A program shows values of many types, and plugins bring types that it has never heard of. Today one function goes
through `if isinstance(value, Text): … elif isinstance(value, Image): …`, and every plugin has to change it.

Write `registry()`. It returns two functions, `register` and `run`:

- `register(kind, function)` keeps a function of one argument for a type. The last one registered for a type counts.
- `run(value)` calls the function registered for the value's type, once, and returns what it returns. If the type \
itself is not registered, the nearest of its base classes in `type(value).__mro__` decides, as for a method. Types may \
come at any time, also after `run` has been called.
- If none of them is registered, `run` raises a TypeError that names the type. An error raised by a registered \
function comes through as it is.
- Two calls of `registry()` make two registries that know nothing of each other.
- No chain of questions: `run` may not take longer with 200 types registered than with 8.

The check counts steps instead of seconds: the bytecodes that Python runs, and how many types were asked, by
`isinstance` or by `==`, whether a value is theirs.
""",
    starter='''def registry():
    """register(kind, function), and run(value), which dispatches on its type."""
    ...
''',
    judge=check_registry,
    hints=(
        "A dict whose keys are types is a table for dispatch: `table[type(value)]` asks nobody. What has to be looked "
        "up when that type is not in it?",
        "`register` puts the function into a dict of this registry. `run` goes through `type(value).__mro__`, and for "
        "the first one that is in the dict it returns `table[kind](value)`; after the loop comes the TypeError.",
    ),
    solution_source='''def registry():
    """register(kind, function), and run(value), which dispatches on its type."""
    table = {}

    def register(kind, function):
        table[kind] = function

    def run(value):
        for kind in type(value).__mro__:
            if kind in table:
                return table[kind](value)
        raise TypeError(f"nothing is registered for {type(value).__name__}, nor for a base class of it")

    return register, run
''',
    wrong=(
        (
            registry_by("for kind in table:\n    if isinstance(value, kind):\n        return table[kind](value)"),
            "The nearest decides, in whatever order",
        ),
        (
            registry_by(
                "fits = [kind for kind in table if isinstance(value, kind)]\n"
                "if fits:\n    return table[min(fits, key=type(value).__mro__.index)](value)"
            ),
            "is the value yours?",
        ),
        (
            registry_by(
                "for base in type(value).__mro__:\n    for kind in table:\n"
                "        if base is kind:\n            return table[kind](value)"
            ),
            "it walks through what is registered",
        ),
        (registry_by("if type(value) in table:\n    return table[type(value)](value)"), "so a base class decides"),
        (
            registry_by(
                "kind = type(value)\nwhile kind:\n    if kind in table:\n        return table[kind](value)\n"
                "    kind = kind.__base__"
            ),
            "is type(value).__mro__: Both, Left, Right, Text",
        ),
        (
            registry_by(
                "kind = type(value)\nif kind not in known:\n"
                "    known[kind] = next((table[k] for k in kind.__mro__ if k in table), None)\n"
                "if known[kind]:\n    return known[kind](value)",
                table="table, known = {}, {}",
                more="known.pop(None, None)",
            ),
            "must be forgotten when something is registered",
        ),
        (
            registry_by(
                "for kind in type(value).__mro__:\n    if kind.__name__ in table:\n"
                "        return table[kind.__name__](value)",
                keep="table[kind.__name__] = function",
            ),
            "A name does not tell them apart",
        ),
        (registry_by(BY_MRO + "\nreturn None"), "That is a TypeError"),
        (registry_by(BY_MRO + "\nraise TypeError('unknown type')"), "it does not say which type it was"),
        (
            registry_by(
                "for kind in type(value).__mro__:\n    try:\n        return table[kind](value)\n"
                "    except KeyError:\n        pass"
            ),
            "what do you catch?",
        ),
        (
            registry_by(
                "for kind in type(value).__mro__:\n    result = table.get(kind, lambda _: None)(value)\n"
                "    if result is not None:\n        return result"
            ),
            "That is a result like any other",
        ),
        (registry_by(BY_MRO, table="", given="table={}"), "where does yours keep its functions?"),
        (registry_by(BY_MRO, keep="table.setdefault(kind, function)"), "The last one counts"),
        ("def registry():\n    return {}\n", "It returns two functions"),
    ),
)


# --- 06.shapes ------------------------------------------------------------------------------------------------
TIMES, COUNT, ROUNDS = 20, 5_000, 8
MIXES = {
    "circles only": (6, 0, 0),
    "rectangles only": (0, 7, 0),
    "triangles only": (0, 0, 5),
    "shapes of all three kinds": (5, 6, 7),
    "circles and triangles": (4, 0, 3),
    "a list without any shape": (0, 0, 0),
    "one rectangle": (0, 1, 0),
}


def check_shapes(attempt: Attempt) -> Verdict:
    """The right total of every mix, 20 times faster than a method call for each shape."""
    seed = secrets.randbelow(2**32)
    run = attempt.measure(carried.laid_out, MIXES, COUNT, ROUNDS, seed, memory_limit=512 * MiB)
    told = run.value or {}
    error = told.get("error")
    stopped = attempt.unless_returned(replace(run, ended="raised", error=error) if error else run)
    if stopped:
        where = f"for {told['mix']}: " if error else ""
        return replace(stopped, because=where + stopped.because)
    why = not_the_total(told)
    if why:
        return Verdict("not yet", f"for {told['mix']}: {why}", recording=run)
    faster, (few, more) = told["loop"] / told["yours"], told["steps"]
    count = 3 * COUNT
    figures = (
        f"{faster:.3g} times faster than the loop (at least {TIMES})",
        f"the loop: {in_words(told['loop'] / count, 'seconds')} for a shape",
        f"yours: {in_words(told['yours'] / count, 'seconds')}",
    )
    if faster >= TIMES:
        done = f"The totals are right, and for {count:,} mixed shapes `total` is {faster:.3g} times faster than a loop"
        return Verdict("right", f"{done} of method calls.", figures, run)
    begin = f"the totals are right, but `total` is {faster:.2g} times as fast as the loop; {TIMES} times are asked for."
    if more > 10 * few:
        why = (
            f"For 30 shapes Python took {few:,} steps in it, for 3,000 it took {more:,}: something is still done shape "
            "by shape. Say once, to a whole array, what is to be done."
        )
    else:
        why = (
            "It takes no step of Python for each shape, and yet it does something slow for each: are arrays made "
            "anew, or rows picked out, at every call? What does not depend on `cut` belongs to `layout`, whose time "
            "does not count."
        )
    return Verdict("not yet", f"{begin} {why}", figures, run)


def not_the_total(told: dict) -> str | None:
    """What is wrong with a total, or with what `layout` returned; None if all were right."""
    if kind := told.get("no function"):
        return f"`layout` returned {called(kind)}. It returns a function: `return total`."
    if kind := told.get("no number"):
        return f"`total` returned {called(kind)}. It returns one number."
    if "got" not in told:
        return None
    got, wanted, cut = told["got"], told["wanted"], told["cut"]
    begin = f"with cut={cut:.4g}, `total` gave {got:.9g} where {wanted:.9g} is right."
    if math.isclose(got, wanted, rel_tol=1e-4):
        return f"{begin} That is near, but not the sum of 64-bit floats: in which dtype do you keep the lengths?"
    if cut and math.isclose(got, told["uncut"], rel_tol=1e-6):
        return f"{begin} That is the total without a cut, whatever the cut is. The sum is made when `total` is called."
    if math.isclose(got, told["negative"], rel_tol=1e-6):
        return f"{begin} No length falls below 0: two negative lengths would have an area that counts."
    ratio = got / wanted if wanted else math.inf
    factor = next((f"{n:.3g}" for n in (2, 0.5, math.pi, 1 / math.pi) if math.isclose(ratio, n, rel_tol=1e-6)), None)
    return f"{begin} That is {factor} times as much." if factor else begin


LISTS = """    lengths = {"Circle": [], "Rectangle": [], "Triangle": []}
    for shape in shapes:
        lengths[type(shape).__name__].append(tuple(vars(shape).values()))"""


def layout_by(total: str, before: str = "") -> str:
    """An answer to 06.shapes: what `layout` does `before`, and the lines of its `total`."""
    body = "\n".join(f"        {line}" for line in total.splitlines())
    return f"""def layout(shapes):
    import numpy as np
{before}
    def total(cut):
{body}
    return total
"""


def arrays_by(result: str, clip: str = "np.maximum(each - cut, 0)", dtype: str = "float") -> str:
    """An answer to 06.shapes that keeps an array for each kind."""
    arrays = f"""{LISTS}
    c = np.array(lengths["Circle"], {dtype}).reshape(-1, 1).T.copy()
    r = np.array(lengths["Rectangle"], {dtype}).reshape(-1, 2).T.copy()
    t = np.array(lengths["Triangle"], {dtype}).reshape(-1, 2).T.copy()"""
    return layout_by(f"(a,), (w, h), (b, g) = ({clip} for each in (c, r, t))\nreturn {result}", arrays)


SUM = "np.pi * (a @ a) + w @ h + b @ g / 2"
SHAPES = Exercise(
    key="06.shapes",
    title="a sum over mixed shapes, 20 times faster",
    minutes=15,
    prompt=f"""
A workshop cuts shapes from sheets, and the saw takes `cut` off each of their lengths. The list is mixed, each type has
its own method, and no length falls below 0:

    class Circle:      # radius
        def area(self, cut):
            return pi * max(self.radius - cut, 0) ** 2
    class Rectangle:   # width, height
        def area(self, cut):
            return max(self.width - cut, 0) * max(self.height - cut, 0)
    class Triangle:    # base, height
        def area(self, cut):
            return max(self.base - cut, 0) * max(self.height - cut, 0) / 2

The total area is asked for again and again, each time with another cut. Today it is
`sum(shape.area(cut) for shape in shapes)`: one dispatch for each shape.

Write `layout(shapes)`. It lays the data out as you like, and returns a function `total(cut)` that gives that sum.

- `total` is at least {TIMES} times faster than the loop, for {3 * COUNT:,} shapes in random order. Both are timed \
side by side in one process, over and over, and the best time of each counts. What `layout` takes does not count.
- It agrees with the loop to nine digits, for any mix of the three: also if a kind is missing, or all are.

`type(shape).__name__` is "Circle", "Rectangle" or "Triangle". To try: `from helpers.teach.carried.lesson_06 import \
mix`, then `mix(2, 3, 1)` is a list of 2 circles, 3 rectangles and 1 triangle.
""",
    starter='''def layout(shapes):
    """A function total(cut): the sum of shape.area(cut) over all shapes."""
    ...
''',
    judge=check_shapes,
    hints=(
        "A loop over objects asks each for its type. If all circles stand together, one question is enough for all of "
        "them. How would their radii have to lie in memory for numpy to take them at once?",
        "In `layout`, make an array for each length of each kind: radii, widths, heights, bases, heights. `total` "
        "computes `np.maximum(radii - cut, 0)` and so on, then adds up three sums. An empty array has the sum 0.",
    ),
    solution_source='''def layout(shapes):
    """A function total(cut): the sum of shape.area(cut) over all shapes."""
    import numpy as np

    def lengths(kind, name):
        return np.array([getattr(shape, name) for shape in shapes if type(shape).__name__ == kind])

    radii = lengths("Circle", "radius")
    widths, heights = lengths("Rectangle", "width"), lengths("Rectangle", "height")
    bases, altitudes = lengths("Triangle", "base"), lengths("Triangle", "height")

    def total(cut):
        r, w, h, b, a = (np.maximum(each - cut, 0) for each in (radii, widths, heights, bases, altitudes))
        return np.pi * (r @ r) + w @ h + b @ a / 2

    return total
''',
    wrong=(
        (layout_by("return sum(shape.area(cut) for shape in shapes)"), "something is still done shape by shape"),
        (
            layout_by(
                """areas = (
    lambda r: np.pi * max(r - cut, 0) ** 2,
    lambda w, h: max(w - cut, 0) * max(h - cut, 0),
    lambda b, h: max(b - cut, 0) * max(h - cut, 0) / 2,
)
return sum(area(*one) for area, kind in zip(areas, lengths.values()) for one in kind)""",
                LISTS,
            ),
            "something is still done shape by shape",
        ),
        (
            layout_by(
                "return float(np.sum(areas(objects, cut))) if len(objects) else 0.0",
                "    objects = np.array(shapes, object)\n"
                "    areas = np.vectorize(lambda shape, cut: shape.area(cut), otypes=[float])",
            ),
            "something is still done shape by shape",
        ),
        (
            layout_by(
                """(a,), (w, h), (b, g) = (
    np.maximum(np.array(each, float).reshape(-1, n).T - cut, 0) for each, n in zip(lengths.values(), (1, 2, 2))
)
return np.pi * (a * a).sum() + (w * h).sum() + (b * g).sum() / 2""",
                LISTS,
            ),
            "are arrays made anew, or rows picked out, at every call?",
        ),
        (
            "import functools\n\n"
            + layout_by("return once(cut)", "    once = functools.cache(lambda cut: sum(s.area(cut) for s in shapes))"),
            "something is still done shape by shape",
        ),
        (
            layout_by("return area", "    area = sum(shape.area(0) for shape in shapes)"),
            "That is the total without a cut",
        ),
        (arrays_by(SUM, clip="each - cut"), "No length falls below 0"),
        (arrays_by(SUM, dtype="'f4'"), "in which dtype do you keep the lengths?"),
        (arrays_by(SUM.replace("/ 2", "")), "That is 2 times as much"),
        (arrays_by("np.stack([a * a, w * h, b * g]).sum()"), "all input arrays must have the same shape"),
        (
            layout_by(
                "a, (w, h), (b, g) = (np.maximum(each - cut, 0) for each in arrays)\nreturn " + SUM,
                LISTS
                + "\n    arrays = [np.array([o for o, in lengths['Circle']])]"
                + "\n    arrays += [np.array(list(zip(*lengths[kind]))) for kind in ('Rectangle', 'Triangle')]",
            ),
            "for circles only: it raised ValueError: not enough values to unpack",
        ),
        ("def layout(shapes):\n    return sum(shape.area(0) for shape in shapes)\n", "It returns a function"),
        (arrays_by("a * a"), "It returns one number"),
    ),
)


# --- 06.vtable ------------------------------------------------------------------------------------------------
TURNS = {
    "drop": "it called the function at offset 0 of the table. That is `drop`: the value would be gone now. `infer` is "
    "the fourth word.",
    "data": "it took the first word of the fat pointer for the address of the table. That one leads to the data; the "
    "table's is the second word.",
    "fat": "it looked for `infer` 24 bytes behind the fat pointer itself. The fat pointer has two words only. Its "
    "second word is the address of the table: go there first.",
}
CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGABRT", "SIGTRAP")


def check_call(attempt: Attempt) -> Verdict:
    """Three values of three types: the size from each table, and what the table's function returns."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError("it needs a machine with addresses of 8 bytes")
    xs = [1 + secrets.randbelow(2**52) / 2**52 for _ in range(3)]
    run = attempt.measure(carried.called_through, xs, memory_limit=256 * MiB)
    if run.ended in CRASHES:
        why = (
            f"its process was ended by {run.ended}: it read from an address where no memory is, or jumped to one where "
            "no function is. Some word was taken for an address and is none, or only half of one: an address has 8 "
            "bytes, offsets count bytes, and the table holds the address of `infer`, not its code."
        )
        return Verdict("not yet", why, recording=run)
    told = run.value or {}
    error = told.get("error")
    if error and not told["wrong"] and all(heard == (told["data"], told["x"]) for heard in told["heard"]):
        return attempt.unless_returned(replace(run, ended="raised", error=error))
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    if not told["right"]:
        return Verdict("not yet", not_through(told), recording=run)
    figures = (f"{len(xs)} types, {len(xs)} tables", "2 words in a fat pointer, 4 in a table")
    done = "You called functions of three types that you have never seen, through nothing but addresses."
    return Verdict("right", done, figures, run)


def not_through(told: dict) -> str:
    """Where the call, or what was returned, went wrong."""
    if told["wrong"]:
        return TURNS[told["wrong"][0]]
    given = told["given"]
    if not told["heard"]:
        return f"`infer` was never called, and {given!r} came back. Read the table's fourth word, and call that."
    data, x = told["heard"][-1]
    if data != told["data"]:
        what = {told["fat"]: "the address of the fat pointer", told["table"]: "the address of the table"}
        named = what.get(data, f"{data:#x}, which is not the address of the data")
        return f"`infer` was given {named}. It has to get the address of the data, the fat pointer's first word."
    if x != told["x"]:
        return (
            f"`infer` was called with x = {told['x']!r}, and {x!r} arrived. It takes a C double, and finds it where a "
            "double of 8 bytes is passed: what does your prototype say?"
        )
    if len(told["heard"]) > 1:
        return f"`infer` was called {len(told['heard'])} times. Call it once: it may do more than compute."
    if isinstance(given, str):
        return f"it returned {given}. Return two things: the size, and what `infer` returned."
    size, result = given
    if result != told["result"]:
        what = "the right call, but `infer` returned"
        why = "Which type of result does your prototype tell ctypes to expect?"
        return f"{what} {told['result']!r}, and you returned {result!r}. {why}"
    why = "That is the alignment, at offset 16, or the size of a word. " if size == 8 else ""
    where = "The size is the table's second word, at offset 8: how many bytes a value of this type has."
    return f"the result is right, but a value here has {told['size']} bytes, and you returned {size!r}. {why}{where}"


PAIR = "data, table = (ctypes.c_void_p * 2).from_address(address)"
READ_SIZE = "size = ctypes.c_size_t.from_address(table + 8).value"
READ_INFER = "infer = ctypes.c_void_p.from_address(table + 24).value"
PROTOTYPE = "kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)"


def call_by(
    pair: str = PAIR,
    size: str = READ_SIZE,
    infer: str = READ_INFER,
    kind: str = PROTOTYPE,
    result: str = "size, kind(infer)(data, x)",
) -> str:
    """An answer to 06.vtable, a line for each thing that can go wrong."""
    return f"""def call_through(address, x):
    import ctypes

    {pair}
    {size}
    {infer}
    {kind}
    return {result}
"""


VTABLE = Exercise(
    key="06.vtable",
    title="read a vtable from memory",
    minutes=15,
    prompt="""
Somewhere in memory lies a value. You know neither its type nor its fields, only the address of a fat pointer, as Rust
makes one for `&dyn Backend`. Every word has 8 bytes:

    fat pointer    offset 0  data     address of the value
                   offset 8  vtable   address of the table of its type

    table          offset 0  drop     address of a function that ends the value's life
                   offset 8  size     how many bytes a value of this type has
                   offset 16 align    its alignment
                   offset 24 infer    address of a function: double infer(void *data, double x)

Write `call_through(address, x)`. `address` is the fat pointer's, an int, and `x` is a float. It returns two things:

- the size of the value, an int, from its table,
- what `infer` returns for the value and x. Call it once, and nothing else.

The standard library's ctypes reads memory (`ctypes.c_size_t.from_address(a).value` is the word at address a) and calls
functions by their address (`ctypes.CFUNCTYPE(result, *arguments)(a)` is a Python function that calls the one at a). The
check runs yours in a fresh process: if it reads where it should not, that process dies, and not your notebook.
""",
    starter='''def call_through(address, x):
    """(size of the value, its infer of x), by the fat pointer at this address."""
    ...
''',
    judge=check_call,
    hints=(
        "Two hops. The fat pointer's second word is an address; 24 bytes behind that address lies a word that is an "
        "address again, this time of a function. Write both down with `hex()`: addresses look alike, sizes do not.",
        "Read `data` at `address` and `table` at `address + 8`, then the size at `table + 8` and the function's "
        "address at `table + 24`. Its type is"
        " `ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)`.",
    ),
    solution_source='''def call_through(address, x):
    """(size of the value, its infer of x), by the fat pointer at this address."""
    import ctypes

    def word(at):
        return ctypes.c_size_t.from_address(at).value

    data, table = word(address), word(address + 8)
    infer = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)(word(table + 24))
    return word(table + 8), infer(data, x)
''',
    wrong=(
        (call_by(pair=PAIR.replace("data, table", "table, data")), "That one leads to the data"),
        (call_by(infer=READ_INFER.replace(" + 24", "")), "That is drop: the value would be gone now"),
        (call_by(pair="data = ctypes.c_void_p.from_address(address).value; table = address"), "go there first"),
        (call_by(result="size, kind(infer)(address, x)"), "was given the address of the fat pointer"),
        (call_by(result="size, kind(infer)(table, x)"), "was given the address of the table"),
        (
            call_by(kind=PROTOTYPE.replace("c_void_p, ctypes.c_double", "c_void_p, ctypes.c_float")),
            "finds it where a double of 8 bytes is passed",
        ),
        (call_by(kind=PROTOTYPE.replace("(ctypes.c_double", "(ctypes.c_int")), "Which type of result"),
        (
            call_by(kind=PROTOTYPE.replace("c_void_p, ctypes.c_double", "c_void_p, ctypes.c_int")),
            "argument 2: TypeError",
        ),
        (call_by(pair=PAIR.replace("c_void_p", "c_uint32")), "or only half of one"),
        (call_by(infer=READ_INFER.replace("24", "3")), "offsets count bytes"),
        (call_by(infer="infer = table + 24"), "the address of infer, not its code"),
        (call_by(size="size = ctypes.c_size_t.from_address(table + 16).value"), "That is the alignment"),
        (call_by(result="kind(infer)(data, x)"), "Return two things"),
        (call_by(result="size, infer"), "infer was never called"),
    ),
)

EXERCISES = (REGISTRY, SHAPES, VTABLE)


# --- quizzes --------------------------------------------------------------------------------------------------
def by_position() -> int:
    """2 if a call through a table goes wherever the word at the method's offset says, in a table without any name."""
    affine, scale = vtable.Affine(3.0, 1.0), vtable.Scale(3.0)
    words = [word for _, word in vtable.words_of(vtable.vtable_of(vtable.Affine))]
    nameless = (ctypes.c_size_t * len(words))(*words)
    fat = vtable.FatPointer(ctypes.addressof(affine), ctypes.addressof(nameless))
    backend = vtable.DynBackend(fat, (affine, nameless))
    as_before = backend.infer(2.0) == affine.infer(2.0)
    nameless[3] = vtable.words_of(vtable.vtable_of(vtable.Scale))[3][1]
    return 2 if as_before and backend.infer(2.0) == scale.infer(2.0) != affine.infer(2.0) else 0


def mispredicted() -> int:
    """1 if calls of three types cost more in random order than sorted, and a call through a table next to nothing more
    than any other call; by the Rust twin, run here or recorded."""
    ns = twin("dispatch").figures["ns per call"]
    order = ns["Box<dyn>, shuffled"] - ns["Box<dyn>, sorted"]
    table = ns["&dyn"] - ns["static, not inlined"]
    return 1 if ns["Box<dyn>, shuffled"] > 1.5 * ns["Box<dyn>, sorted"] and order > table else 0


def fastest() -> int:
    """3 if one dispatch for an array is 10 times faster than one for each number, by method or by table."""
    backend, xs = dispatch.Negative(), [float(i) for i in range(20_000)]
    array, table = np.array(xs), {dispatch.Negative: dispatch.Negative.infer}
    method, by_table, once = (
        min(timeit.repeat(work, number=1, repeat=7))
        for work in (
            lambda: dispatch.each_by_method(backend, xs),
            lambda: dispatch.each_by_table(table, backend, xs),
            lambda: dispatch.once_per_array(backend, array),
        )
    )
    return 3 if 10 * once < min(method, by_table) else 0 if method < by_table else 1


QUIZZES = (
    Quiz(
        "06.table",
        "`backend` is a `&dyn Backend`: two words, and the caller does not know of which type the value is. How does "
        "`backend.infer(x)` find its function?",
        (
            Choice(
                'It looks up the name "infer" in the table, as Python does in the dict of a class.',
                False,
                "There is no name in the table: you have seen all four words. Names are gone when the program is "
                "compiled. A table for a trait with two methods has five words, and still no name.",
            ),
            Choice(
                "It compares the type with those that it knows, and calls the function of the one that fits.",
                False,
                "Then the caller would have to know all types, as with an enum. Through `dyn` it serves types that "
                "were written years after it.",
            ),
            Choice(
                "It takes the word at a fixed offset of the table, and calls the address that it finds there.",
                True,
                "Yes. That `infer` is the fourth word was settled when the program was compiled; which table, the fat "
                "pointer says. Before it come drop, size and align: what anybody needs who has to end a value and "
                "give its bytes back, whatever its type.",
            ),
            Choice(
                "It finds the table's address in the first word of the value.",
                False,
                "That is C++'s way: there each object begins with the address of its table. Rust's value has its "
                "fields and nothing else, a `Scale` has 8 bytes. The address travels in the pointer.",
            ),
        ),
        by_position,
    ),
    Quiz(
        "06.cost",
        "A list of `Box<dyn Backend>` holds values of three types. Sorted by type, a call costs about what any "
        "function call costs; in random order it costs several times that. The tables are the same, and so is the "
        "number of calls. What is so dear?",
        (
            Choice(
                "To read the table: two words more for each call.",
                False,
                "They are read when the list is sorted, too. Three tables of 32 bytes stay in the processor's nearest "
                "cache, and reading them costs next to nothing.",
            ),
            Choice(
                "That the processor guesses where the next call goes, and is wrong.",
                True,
                "Yes. It runs ahead, into the function that was called last time. Sorted, that is nearly always right. "
                "In random order it often throws away what it has begun, and starts again at another address.",
            ),
            Choice(
                "That the call is not inlined.",
                False,
                "That is a price, and often the largest beside a static call: but a list in order pays it as well. It "
                "does not explain what the order changes.",
            ),
            Choice(
                "To find the values: each box lies somewhere else.",
                False,
                "It can be, in a program that has run for long. Here both lists were made in order, one box after "
                "another in memory; only the order of the types differs.",
            ),
        ),
        mispredicted,
    ),
    Quiz(
        "06.once",
        "20,000 numbers change their sign. `Negative.infer` is `return -x`. Which is by far the fastest, and why?",
        (
            Choice(
                "`[backend.infer(x) for x in xs]`: with one type at the call site, CPython remembers where the method "
                "is.",
                False,
                "It does, and that makes the look-up cheap. What stays is a call of a Python function and a new float "
                "for each number.",
            ),
            Choice(
                "`[table[type(backend)](backend, x) for x in xs]`: a look-up in a dict saves that of an attribute.",
                False,
                "It puts a look-up that you write in the place of one that CPython remembers. The call and the new "
                "float stay, for each number.",
            ),
            Choice(
                "None: the work is the same, and dispatch costs next to nothing beside it.",
                False,
                "Here it is the other way round: to change the sign of one number is one instruction, and all the "
                "rest is the way to it.",
            ),
            Choice(
                "`backend.infer(array)`: one dispatch for all of them, then a loop in C over numbers side by side.",
                True,
                "Yes. `-x` asks once for the type of the array and of its numbers. After that nobody asks anything, "
                "and no object is made for a number.",
            ),
        ),
        fastest,
    ),
)
