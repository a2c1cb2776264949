"""Lesson 06: what runs around a student's registry, layout of shapes, and call through a table."""

import math
import sys
from math import pi


def steps(function, *args) -> int:
    """How many steps (bytecodes) Python takes for this call. What C code does within one of them is not counted."""
    count = 0

    def counted(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return counted

    sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
    sys.settrace(counted)
    try:
        function(*args)
    finally:
        sys.settrace(None)
    return count


# --- 06.registry ----------------------------------------------------------------------------------------------
def registered(registry, few: int, many: int) -> dict:
    """What the registry did: the first case that went wrong, with what was got and wanted, in words; or, for `few` and
    for `many` types registered, the steps that one `run` takes, and how many questions it puts to types.
    """
    made = registry()
    if not isinstance(made, tuple | list) or len(made) != 2 or not all(map(callable, made)):
        return {"case": "pair", "got": repr(made)[:200], "wanted": ""}
    for case, got, wanted in _uses(registry):
        if got != wanted:
            return {"case": case, "got": got, "wanted": wanted}
    return {"case": None, "few": _cost(registry, few), "many": _cost(registry, many)}


def _uses(registry):
    """(case, what came, what was right), each made when it is asked for."""
    register, run = registry()

    def asked(value, run=run) -> str:
        try:
            return str(run(value))[:200]
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:200]

    class Text:
        words = "a text"

    class Image:
        words = "an image"

    register(Text, lambda value: f"text: {value.words}")
    register(Image, lambda value: f"image: {value.words}")
    register(int, lambda value: f"number: {value}")
    yield "exact", asked(Text()), "text: a text"
    yield "exact", asked(Image()), "image: an image"
    yield "exact", asked(7), "number: 7"

    class Poem(Text):
        words = "a poem"

    yield "subclass", asked(Poem()), "text: a poem"
    yield "subclass", asked(True), "number: True"

    class Letter(Text):
        words = "a letter"

    class Draft(Letter):
        words = "a draft"

    register(Letter, lambda value: f"letter: {value.words}")
    yield "nearest", asked(Letter()), "letter: a letter"
    yield "nearest", asked(Draft()), "letter: a draft"
    yield "nearest", asked(Text()), "text: a text"

    class Left(Text): ...

    class Right(Text): ...

    class Both(Left, Right):
        words = "both"

    register(Right, lambda value: f"right: {value.words}")
    yield "order", asked(Both()), "right: both"
    register(Poem, lambda value: f"poem: {value.words}")
    yield "later", asked(Poem()), "poem: a poem"
    register(Image, lambda value: f"new image: {value.words}")
    yield "again", asked(Image()), "new image: an image"
    unknown = asked(2.5)
    yield "unknown", unknown.partition(":")[0], "TypeError"
    yield "nameless", unknown if "float" not in unknown else "", ""
    namesake = type("Text", (), {"words": "a namesake"})
    yield "namesake", asked(namesake()).partition(":")[0], "TypeError"
    register(namesake, lambda value: f"namesake: {value.words}")
    yield "namesake", asked(Text()), "text: a text"

    class Broken:
        words = "page 7"

    for error in (KeyError, TypeError, AttributeError):

        def fails(value, error=error):
            raise error(value.words)

        register(Broken, fails)
        yield "error", asked(Broken()), f"{error.__name__}: {error('page 7')}"
    calls = []
    register(bytes, calls.append)
    yield "none", asked(b"once"), "None"
    yield "twice", str(calls), str([b"once"])
    yield "apart", asked(Text(), registry()[1]).partition(":")[0], "TypeError"


def _cost(registry, count: int) -> tuple[int, int]:
    """Steps, and questions to types, of one run with `count` types registered: the most that one of them costs, when
    it has been run before."""
    questions = 0

    class Watched(type):
        def __instancecheck__(cls, value):
            nonlocal questions
            questions += 1
            return super().__instancecheck__(value)

        def __subclasscheck__(cls, other):
            nonlocal questions
            questions += 1
            return super().__subclasscheck__(other)

        def __eq__(cls, other):
            nonlocal questions
            questions += 1
            return cls is other

        __hash__ = type.__hash__

    register, run = registry()
    types = [Watched(f"Kind{i}", (), {}) for i in range(count)]
    for kind in types:
        register(kind, id)
    most = (0, 0)
    for kind in (types[0], types[count // 2], types[-1], Watched("Heir", (types[1],), {})):
        value = kind()
        run(value)
        questions = 0
        most = tuple(map(max, most, (steps(run, value), questions)))
    return most


# --- 06.shapes ------------------------------------------------------------------------------------------------
class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self, cut):
        return pi * max(self.radius - cut, 0) ** 2


class Rectangle:
    def __init__(self, width, height):
        self.width, self.height = width, height

    def area(self, cut):
        return max(self.width - cut, 0) * max(self.height - cut, 0)


class Triangle:
    def __init__(self, base, height):
        self.base, self.height = base, height

    def area(self, cut):
        return max(self.base - cut, 0) * max(self.height - cut, 0) / 2


def mix(circles: int, rectangles: int, triangles: int, seed: int = 0) -> list:
    """That many shapes of each kind, shuffled; their lengths lie between 0 and 1."""
    from random import Random

    random = Random(seed).random
    shapes = [Circle(random()) for _ in range(circles)]
    shapes += [Rectangle(random(), random()) for _ in range(rectangles)]
    shapes += [Triangle(random(), random()) for _ in range(triangles)]
    Random(seed + 1).shuffle(shapes)
    return shapes


def by_methods(shapes: list, cut: float) -> float:
    """The loop that is to be beaten."""
    total = 0.0
    for shape in shapes:
        total += shape.area(cut)
    return total


def laid_out(layout, mixes: dict[str, tuple[int, int, int]], count: int, rounds: int, seed: int) -> dict:
    """The first mix whose total was wrong, or an error; else the seconds of the loop and of the student's total, for
    `count` shapes of each kind, the best of `rounds`, and the steps that Python takes for 30 and for 3,000 shapes.
    """
    import traceback
    from time import perf_counter

    for name, counts in mixes.items():
        shapes = mix(*counts, seed=seed)
        try:
            total = layout(list(shapes))
            if not callable(total):
                return {"mix": name, "no function": type(total).__name__}
            for cut in (0.0, 0.25, 0.625):
                got = total(cut)
                if getattr(got, "ndim", 0) or not hasattr(got, "__float__"):
                    return {"mix": name, "no number": type(got).__name__}
                if not math.isclose(got, wanted := by_methods(shapes, cut), rel_tol=1e-9, abs_tol=1e-12):
                    told = {"mix": name, "cut": cut, "got": float(got), "wanted": wanted, "uncut": float(total(0.0))}
                    return told | {"negative": _not_clipped(shapes, cut)}
        except Exception as error:
            return {"mix": name, "error": "".join(traceback.format_exception(error))}
    shapes = mix(count, count, count, seed)
    total = layout(list(shapes))
    loop = yours = math.inf
    for round in range(rounds):
        cut = 0.3 + round / 100
        began = perf_counter()
        wanted = by_methods(shapes, cut)
        loop = min(loop, (now := perf_counter()) - began)
        end = now + loop
        got = total(cut)
        if not math.isclose(got, wanted, rel_tol=1e-9):
            told = {"mix": "many shapes", "cut": cut, "got": float(got), "wanted": wanted, "uncut": float(total(0.0))}
            return told | {"negative": _not_clipped(shapes, cut)}
        while now < end:  # as long as the loop took: a moment without disturbance is found for both
            cut += 1e-7  # never the same twice: an answer that was kept is of no use
            began = perf_counter()
            total(cut)
            yours = min(yours, (now := perf_counter()) - began)
    few, more = (steps(layout(mix(n, n, n, seed)), 0.25) for n in (10, 1000))
    return {"loop": loop, "yours": yours, "steps": (few, more)}


def _not_clipped(shapes: list, cut: float) -> float:
    """The total of somebody who lets lengths fall below 0."""
    total = 0.0
    for shape in shapes:
        if type(shape) is Circle:
            total += pi * (shape.radius - cut) ** 2
        else:
            one, other = vars(shape).values()
            total += (one - cut) * (other - cut) / (2 if type(shape) is Triangle else 1)
    return total


# --- 06.vtable ------------------------------------------------------------------------------------------------
def called_through(function, xs: list[float]) -> dict:
    """Asks for values of three types, one for each x; what was found of the first that went wrong, or of the last:
    what the function returned, and what was called with what.
    """
    import mmap
    import traceback

    _no_core()
    values = (
        ((2.5, -0.75), lambda x, factor, offset: factor * x + offset),
        ((-1.25,), lambda x, factor: factor * x),
        ((0.5, 3.0, -2.0), lambda x, a, b, c: (a * x + b) * x + c),
    )
    memory = mmap.mmap(-1, mmap.PAGESIZE)  # far up in the address space: half of an address leads nowhere
    kept, told = [], {}
    for number, (x, (fields, formula)) in enumerate(zip(xs, values, strict=True)):
        told = _planted(memory, 1024 * number, fields, formula, kept)
        told |= {"x": x, "result": formula(x, *fields), "given": None, "error": None, "right": False}
        try:
            given = function(told["fat"], x)
        except Exception as error:
            return told | {"error": "".join(traceback.format_exception(error))}
        pair = isinstance(given, tuple | list) and len(given) == 2
        told["given"] = tuple(map(_number, given)) if pair else repr(given)[:200]
        asked = told["heard"] == [(told["data"], x)] and not told["wrong"]
        told["right"] = asked and pair and tuple(given) == (told["size"], told["result"])
        if not told["right"]:
            return told
    return told


def _planted(memory, at: int, fields: tuple, formula, kept: list) -> dict:
    """Fat pointer, value and table in the 320 bytes of `memory` from `at` on; their addresses, and two lists: what
    `infer` will have heard, and which wrong functions will have been called. For where a wrong turn leads to, there
    lies the address of a function as well, one that tells. `kept` keeps the functions alive.
    """
    import ctypes

    called_as = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)
    words, doubles = ((kind * 40).from_buffer(memory, at) for kind in (ctypes.c_uint64, ctypes.c_double))
    heard, wrong = [], []
    fat = ctypes.addressof(words)
    data, table = fat + 8 * 8, fat + 24 * 8

    def infer(given, x):
        heard.append((given or 0, x))
        return formula(x, *fields) if given == data else math.nan

    functions = (
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda given: wrong.append("drop")),
        called_as(infer),
        called_as(lambda given, x: wrong.append("fat") or 0.0),
        called_as(lambda given, x: wrong.append("data") or 0.0),
    )
    kept += functions
    drop_at, infer_at, on_fat, on_data = (ctypes.cast(one, ctypes.c_void_p).value for one in functions)
    size = 8 * len(fields)
    words[0:4] = [data, table, 0, on_fat]
    doubles[8 : 8 + len(fields)] = fields
    words[8 + 3] = on_data
    words[24:28] = [drop_at, size, 8, infer_at]
    return {"fat": fat, "data": data, "table": table, "size": size, "heard": heard, "wrong": wrong}


def _number(value):
    return value if type(value) in (int, float) else repr(value)[:200]


def _no_core() -> None:
    """A crash is one of the answers here: it leaves no file behind. core(5)"""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
