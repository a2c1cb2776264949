"""06.registry: the right function for each value, and no more steps with 200 types registered than with 8."""

from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB

FEW, MANY = 8, 200  # types registered
ADVICE = {
    "wrong-function": "`run` calls the function registered for the value's own type, and returns what it returns.",
    "not-the-nearest": "The nearest base class decides, in whatever order they were registered: "
    "`type(value).__mro__` has a type and all its bases, the nearest first.",
    "stale": "What you remember of a type must be forgotten when something is registered.",
    "no-type-error": "If neither the type nor a base class is registered, raise a TypeError with the type's name.",
    "error-caught": "An error raised by a registered function must come through. Which errors do you catch, and where?",
    "shared-registry": "Each call of `registry()` makes a new one. Where does yours keep its functions?",
}


def run(registry, few: int, many: int) -> tuple:
    """The first slip: its cause, what was asked, what came, what was right; or the steps of one `run` with `few` and
    with `many` types registered."""
    made = registry()
    if not isinstance(made, tuple | list) or len(made) != 2 or not all(map(callable, made)):
        return "no-pair", "`registry()`", repr(made)[:200], "two functions, `return register, run`"
    for slip in uses(registry):
        if slip[2] != slip[3]:
            return slip
    return steps_of_a_run(registry, few), steps_of_a_run(registry, many)


def uses(registry):
    """(cause if it goes wrong, what was asked, what came, what is right), one after the other."""
    register, run = registry()

    def asked(value, run=run) -> str:
        try:
            return str(run(value))[:200]
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:200]

    def shows(word):
        return lambda value: f"{word} of {type(value).__name__}"

    class Text: ...

    class Poem(Text): ...

    class Letter(Text): ...

    class Draft(Letter): ...

    class Right(Text): ...

    class Both(type("Left", (Text,), {}), Right): ...

    register(Text, shows("text"))
    register(int, shows("number"))
    yield "wrong-function", "a Text (registered)", asked(Text()), "text of Text"
    yield "wrong-function", "7 (int is registered)", asked(7), "number of int"
    yield "not-the-nearest", "a Poem (a subclass of Text)", asked(Poem()), "text of Poem"
    yield "not-the-nearest", "True (bool is a subclass of int)", asked(True), "number of bool"
    register(Letter, shows("letter"))
    yield "not-the-nearest", "a Letter (registered, as is its base Text)", asked(Letter()), "letter of Letter"
    yield "not-the-nearest", "a Draft (a subclass of Letter)", asked(Draft()), "letter of Draft"
    yield "not-the-nearest", "a Text (registered, as is its subclass Letter)", asked(Text()), "text of Text"
    register(Right, shows("right"))
    yield "not-the-nearest", "a `Both(Left, Right)` (Right and Text are registered)", asked(Both()), "right of Both"
    register(Poem, shows("poem"))
    yield "stale", "a Poem (registered after `run` had met one)", asked(Poem()), "poem of Poem"
    register(int, shows("new number"))
    yield "stale", "7 (int is registered twice: the last one counts)", asked(7), "new number of int"
    unknown, wanted = asked(2.5), "a TypeError that names float"
    named = unknown.startswith("TypeError:") and "float" in unknown
    yield "no-type-error", "2.5 (float is not registered)", wanted if named else unknown, wanted
    namesake = type("Text", (), {})
    yield "no-type-error", "another type named Text (not registered)", asked(namesake()).partition(":")[0], "TypeError"
    register(namesake, shows("other"))
    yield "wrong-function", "a Text (another type of that name is registered, too)", asked(Text()), "text of Text"
    for error in (KeyError, TypeError, AttributeError):

        def fails(value, error=error):
            raise error("page 7")

        register(Letter, fails)
        wanted = f"{error.__name__}: {error('page 7')}"
        yield "error-caught", f"a Letter (its function raises {error.__name__})", asked(Letter()), wanted
    calls = []
    register(bytes, calls.append)
    yield "wrong-function", "b'once' (its function returns None)", asked(b"once"), "None"
    yield "wrong-function", "b'once' (its function notes each call)", str(calls), str([b"once"])
    elsewhere = asked(Text(), registry()[1])
    yield "shared-registry", "a Text (registered in another registry)", elsewhere.partition(":")[0], "TypeError"


def steps_of_a_run(registry, count: int) -> int:
    """Steps of one run with `count` types registered: the most of four values, each of which was run before."""

    class Kind(type):  # in Python, so that it takes steps to ask one of them
        __hash__ = type.__hash__

        def __instancecheck__(cls, value):
            return type.__instancecheck__(cls, value)

        def __subclasscheck__(cls, other):
            return type.__subclasscheck__(cls, other)

        def __eq__(cls, other):
            return cls is other

    register, run = registry()
    types = [Kind(f"Kind{i}", (), {}) for i in range(count)]
    for kind in types:
        register(kind, id)
    values = [kind() for kind in (types[0], types[count // 2], types[-1], Kind("Heir", (types[1],), {}))]
    for value in values:
        run(value)
    return max(steps(run, value) for value in values)


def steps(function, *args) -> int:
    """How many steps (bytecodes) Python takes for this call. What C code does within one of them is not counted."""
    import sys

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
    if len(told) == 4:
        cause, asked, came, wanted = told
        raise NotYet(cause, f"for {asked}: expected {wanted}, got {came or 'nothing'}. {ADVICE.get(cause, '')}".strip())
    few, many = told
    figures = (f"{FEW} types: {few} steps of Python for a value", f"{MANY} types: {many} steps")
    if many > 2 * few + 50:
        why = (
            f"every value gets its function, but one `run` takes {few} steps with {FEW} types registered, and {many} "
            f"with {MANY}: it walks through what is registered, or asks each type whether the value is its own. Walk "
            "through the value's base classes instead, and look each of them up."
        )
        raise NotYet("walks-the-table", why, figures)
    done = f"Every value gets its function, and with {MANY} types registered that costs what it costs with {FEW}."
    return right(f"{done} This is what `functools.singledispatch` does.", figures)
