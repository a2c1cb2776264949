"""06.registry: the right function for each value, and no more steps with 200 types registered than with 8."""

import sys

from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB

FEW, MANY = 8, 200  # types registered
ADVICE = {
    "wrong-function": "`run` calls the function registered for the value's type, and returns what comes back.",
    "bases-ignored": "The type itself is not registered, so the nearest of its base classes decides.",
    "not-the-nearest": "The order of registering does not matter. `type(value).__mro__` has a type and all its bases, "
    "the nearest first: Both, Left, Right, Text.",
    "stale": "What you remember of a type must be forgotten when something is registered.",
    "by-name": "A name does not tell types apart; the type object does.",
    "no-type-error": "If neither the type nor a base class is registered, raise a TypeError with the type's name.",
    "error-caught": "An error raised by a registered function must come through. Which errors do you catch, and where?",
    "called-again": "Call the registered function once; `None` is a result like any other.",
    "shared-registry": "Each call of `registry()` makes a new one. Where does yours keep its functions?",
}


def run(registry, few: int, many: int) -> dict:
    """The first "slip": its cause, what was asked, what came, what was right; or the costs of one `run` with `few` and
    with `many` types registered."""
    made = registry()
    if not isinstance(made, tuple | list) or len(made) != 2 or not all(map(callable, made)):
        return {"slip": ("no-pair", "", repr(made)[:200], "")}
    for slip in uses(registry):
        if slip[2] != slip[3]:
            return {"slip": slip}
    return {"slip": None, "few": cost(registry, few), "many": cost(registry, many)}


def uses(registry):
    """(cause if it goes wrong, what was asked, what came, what is right), one after the other."""
    register, run = registry()

    def asked(value, run=run) -> str:
        try:
            return str(run(value))[:200]
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:200]

    def shows(word):
        return lambda value: f"{word} of {value!r}"

    class Shown:
        def __repr__(self):
            return type(self).__name__

    class Text(Shown): ...

    class Image(Shown): ...

    for kind, word in ((Text, "text"), (Image, "image"), (int, "number")):
        register(kind, shows(word))
    for value, word in ((Text(), "text"), (Image(), "image"), (7, "number")):
        yield "wrong-function", f"{value!r}, whose type is registered", asked(value), f"{word} of {value!r}"

    class Poem(Text): ...

    class Letter(Text): ...

    class Draft(Letter): ...

    yield "bases-ignored", "a Poem (a subclass of Text, which is registered)", asked(Poem()), "text of Poem"
    yield "bases-ignored", "True (bool is a subclass of int, which is registered)", asked(True), "number of True"
    register(Letter, shows("letter"))
    yield "not-the-nearest", "a Letter (registered, as is its base Text)", asked(Letter()), "letter of Letter"
    yield "not-the-nearest", "a Draft (a subclass of Letter, which is one of Text)", asked(Draft()), "letter of Draft"
    yield "not-the-nearest", "a Text (registered, as is its subclass Letter)", asked(Text()), "text of Text"

    class Left(Text): ...

    class Right(Text): ...

    class Both(Left, Right): ...

    register(Right, shows("right"))
    yield "not-the-nearest", "a `Both(Left, Right)` (Right and Text are registered)", asked(Both()), "right of Both"
    register(Poem, shows("poem"))
    yield "stale", "a Poem (registered after `run` had met one)", asked(Poem()), "poem of Poem"
    register(Image, shows("new image"))
    yield "stale", "an Image (registered twice: the last one counts)", asked(Image()), "new image of Image"
    unknown, wanted = asked(2.5), "a TypeError that names float"
    named = unknown.partition(":")[0] == "TypeError" and "float" in unknown
    yield "no-type-error", "2.5 (float is not registered)", wanted if named else unknown, wanted
    namesake = type("Text", (Shown,), {})
    yield "by-name", "a second Text (not registered)", asked(namesake()).partition(":")[0], "TypeError"
    register(namesake, shows("second text"))
    yield "by-name", "a Text (another type of that name is registered, too)", asked(Text()), "text of Text"
    for error in (KeyError, TypeError, AttributeError):

        def fails(value, error=error):
            raise error("page 7")

        register(Letter, fails)
        what = f"a Letter (its function raises {error.__name__})"
        yield "error-caught", what, asked(Letter()), f"{error.__name__}: {error('page 7')}"
    calls = []
    register(bytes, calls.append)
    yield "called-again", "b'once' (its function returns None)", asked(b"once"), "None"
    yield "called-again", "b'once' (its function notes each call)", str(calls), str([b"once"])
    elsewhere = asked(Text(), registry()[1])
    yield "shared-registry", "a Text (registered in another registry)", elsewhere.partition(":")[0], "TypeError"


def cost(registry, count: int) -> tuple[int, int]:
    """Steps, and questions to types, of one run with `count` types registered: the most that any of four values costs
    that has been run before."""
    questions = 0

    def noted(answer):
        nonlocal questions
        questions += 1
        return answer

    class Watched(type):
        __hash__ = type.__hash__

        def __instancecheck__(cls, value):
            return noted(type.__instancecheck__(cls, value))

        def __subclasscheck__(cls, other):
            return noted(type.__subclasscheck__(cls, other))

        def __eq__(cls, other):
            return noted(cls is other)

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


def judge(attempt: Attempt) -> Verdict:
    told = attempt.run(run, FEW, MANY, memory_limit=256 * MiB).value
    if told["slip"]:
        cause, asked, came, wanted = told["slip"]
        if cause == "no-pair":
            raise NotYet(cause, f"`registry()` returned {came}. It returns two functions: `return register, run`.")
        why = f"for {asked}, `run` gave {came or 'nothing'!r}; expected {wanted!r}. {ADVICE[cause]}"
        raise NotYet(cause, why)
    (few, few_asked), (many, many_asked) = told["few"], told["many"]
    figures = (
        f"{FEW} types: {few} steps of Python for a value",
        f"{MANY} types: {many} steps",
        "1 question to a type" if many_asked == 1 else f"{many_asked} questions to types",
    )
    if many_asked > few_asked + 10:
        why = (
            f"every value gets its function, but with {MANY} types registered, a single `run` asked {many_asked} times "
            "whether the value belongs to a type (isinstance, issubclass, or ==). Ask the value for its type, and look "
            "that up."
        )
        raise NotYet("asks-the-types", why, figures)
    if many > 2 * few + 50:
        why = (
            f"every value gets its function, but one `run` takes {few} steps with {FEW} types registered, and {many} "
            f"with {MANY}: it walks through what is registered. Walk through the value's base classes instead, and "
            "look each of them up."
        )
        raise NotYet("walks-the-table", why, figures)
    done = (
        f"Every value gets its function, and with {MANY} types registered that costs what it costs with {FEW}. This is "
        "what `functools.singledispatch` does."
    )
    return right(done, figures)
