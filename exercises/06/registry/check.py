"""06.registry: the right function for each value, and no more steps with 200 types registered than
with 8.
"""

import secrets

from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB

FEW, MANY = 8, 200  # types registered
EVASIONS = (
    "sys.settrace",
    "sys._getframe",
    "_thread.start_new_thread",
    "_thread.start_joinable_thread",
    "os.fork",
)
ADVICE = {
    "wrong-function": (
        "`run` calls the function registered for the value's own type, and returns what it returns."
    ),
    "not-the-nearest": (
        "The nearest base class decides, in whatever order the classes were registered: "
        "`type(value).__mro__` has the type and all its bases, the nearest first."
    ),
    "stale": "Whatever you remember about a type must be forgotten when something is registered.",
    "no-type-error": (
        "If neither the type nor a base class is registered, raise a TypeError with the type's "
        "name."
    ),
    "error-caught": (
        "An error raised by a registered function must come through. Which errors do you catch,"
        " and where?"
    ),
    "shared-registry": (
        "Each call of `registry()` makes a new registry. Where does yours keep its functions?"
    ),
}


# of the functions registered
NAMES = ("text", "number", "letter", "right", "poem", "new", "other", "any")
NO_FUNCTION = "a TypeError with the type's name"
# the cause if it goes wrong, what is asked, what must come; {text} is the word of the function
# `text`
USES = (
    ("wrong-function", "a Text (registered)", "'{text} of Text'"),
    ("wrong-function", "7 (int is registered)", "'{number} of int'"),
    ("not-the-nearest", "a Poem (a subclass of Text)", "'{text} of Poem'"),
    ("not-the-nearest", "True (bool is a subclass of int)", "'{number} of bool'"),
    ("not-the-nearest", "a Letter (registered, as is its base Text)", "'{letter} of Letter'"),
    ("not-the-nearest", "a Draft (a subclass of Letter)", "'{letter} of Draft'"),
    ("not-the-nearest", "a Text (registered, as is its subclass Letter)", "'{text} of Text'"),
    (
        "not-the-nearest",
        "a `Both(Left, Right)` (Right and Text are registered)",
        "'{right} of Both'",
    ),
    ("stale", "a Poem (registered after `run` had met one)", "'{poem} of Poem'"),
    ("stale", "7 (int is registered twice: the last function counts)", "'{new} of int'"),
    ("stale", "True (bool was met before int was registered again)", "'{new} of bool'"),
    ("no-type-error", "2.5 (float is not registered)", NO_FUNCTION),
    ("no-type-error", "another type named Text (not registered)", NO_FUNCTION),
    (
        "wrong-function",
        "a Text (another type of that name is registered, too)",
        "'{text} of Text'",
    ),
    ("error-caught", "a Letter (its function raises KeyError)", "KeyError('page 7')"),
    ("error-caught", "a Letter (its function raises TypeError)", "TypeError('page 7')"),
    ("error-caught", "a Letter (its function raises AttributeError)", "AttributeError('page 7')"),
    ("wrong-function", "b'once' (its function returns None)", "None"),
    ("stale", "2.5 (object was registered after `run` had met a float)", "'{any} of float'"),
    ("shared-registry", "a Text (registered in another registry)", NO_FUNCTION),
)


def answers(registry, words: dict[str, str]) -> list[str] | str:
    """What came of each of USES, or what came instead of two functions."""
    made = registry()
    if not isinstance(made, tuple | list) or len(made) != 2 or not all(map(callable, made)):
        return repr(made)[:200]
    return list(uses(registry, words))


def uses(registry, words: dict[str, str]):
    """What comes of each of USES, one after another. The registered functions return these
    words.
    """
    register, run = registry()
    calls = []  # of the registered functions: what each was given, and what it returned or raised

    def asked(value, run=run) -> str:
        calls.clear()
        try:
            came, raised = run(value), False
        except Exception as error:
            came, raised = error, True
        if len(calls) > 1:
            return f"{len(calls)} calls of registered functions"
        if calls and calls[0][0] is value and calls[0][1] is came:
            return repr(came)
        if (
            not calls
            and raised
            and isinstance(came, TypeError)
            and type(value).__name__ in str(came)
        ):
            return NO_FUNCTION
        return f"{came!r}"[:200] + (
            ", which is not what its function returned" if calls else " without a call"
        )

    def shows(name):
        def show(value):
            calls.append(
                (value, None if name is None else f"{words[name]} of {type(value).__name__}")
            )
            return calls[-1][1]

        return show

    class Text: ...

    class Poem(Text): ...

    class Letter(Text): ...

    class Draft(Letter): ...

    class Right(Text): ...

    class Both(type("Left", (Text,), {}), Right): ...

    register(Text, shows("text"))
    register(int, shows("number"))
    yield asked(Text())
    yield asked(7)
    yield asked(Poem())
    yield asked(True)
    register(Letter, shows("letter"))
    yield asked(Letter())
    yield asked(Draft())
    yield asked(Text())
    register(Right, shows("right"))
    yield asked(Both())
    register(Poem, shows("poem"))
    yield asked(Poem())
    register(int, shows("new"))
    yield asked(7)
    yield asked(True)
    yield asked(2.5)
    namesake = type("Text", (), {})
    yield asked(namesake())
    register(namesake, shows("other"))
    yield asked(Text())
    for error in (KeyError("page 7"), TypeError("page 7"), AttributeError("page 7")):

        def fails(value, error=error):
            calls.append((value, error))
            raise error

        register(Letter, fails)
        yield asked(Letter())
    register(bytes, shows(None))
    yield asked(b"once")
    register(object, shows("any"))
    yield asked(2.5)
    yield asked(Text(), registry()[1])


def count(registry, few: int, many: int) -> tuple[int, int]:
    """The steps of one `run` with `few` and with `many` types registered."""
    return steps_of_a_run(registry, few), steps_of_a_run(registry, many)


def steps_of_a_run(registry, count: int) -> int:
    """Steps of one run with `count` types registered: the maximum over four values, each of which
    was run before.
    """

    class Kind(type):  # in Python, so that asking it takes steps
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
    values = [
        kind() for kind in (types[0], types[count // 2], types[-1], Kind("Heir", (types[1],), {}))
    ]
    for value in values:
        run(value)
    return max(steps(run, value) for value in values)


def steps(function, *args) -> int:
    """How many steps (bytecodes) Python takes for this call. What C code does within a step isn't
    counted.

    Raises RuntimeError if the function evaded the count: by a trace function, a frame, a thread or
    a process.
    """
    import sys
    import threading

    number, evaded, called = 0, [], False

    def counted(frame, event, _):
        nonlocal number
        frame.f_trace_opcodes = True
        number += event == "opcode"
        return counted

    def heard(event, _):
        if called and event in EVASIONS:
            evaded.append(event)

    sys.addaudithook(heard)
    sys._getframe().f_trace_opcodes = True  # 3.12 looks for it when settrace is called, not later
    threading.settrace(counted)
    sys.settrace(counted)
    try:
        called = True
        function(*args)
        called = False
    finally:
        sys.settrace(None)
    if evaded:
        raise RuntimeError(f"the check counts the steps of `run`, which called {evaded[0]}")
    return number


def judge(attempt: Attempt) -> Verdict:
    words = {name: secrets.token_hex(3) for name in NAMES}
    told = attempt.run(answers, words, memory_limit=256 * MiB).value
    if isinstance(told, str):
        raise NotYet(
            "no-pair",
            f"for `registry()`: expected two functions, `return register, run`; got {told}.",
        )
    for (cause, asked, must_come), came in zip(USES, told, strict=True):
        wanted = must_come.format(**words)
        if came != wanted:
            raise NotYet(cause, f"for {asked}: expected {wanted}, got {came}. {ADVICE[cause]}")
    few, many = attempt.run(count, FEW, MANY, memory_limit=256 * MiB).value
    figures = (f"{FEW} types: {few} Python steps per value", f"{MANY} types: {many} steps")
    if many > 2 * few + 50:
        why = (
            f"every value gets its function, but one `run` takes {few} steps with {FEW} types "
            f"registered, and {many} with {MANY}: it walks through everything registered, or asks "
            "each type whether it fits the value. Walk through the value's base classes instead,"
            " and look each of them up."
        )
        raise NotYet("walks-the-table", why, figures, half="every value gets its function")
    done = (
        f"Every value gets its function, and a `run` with {MANY} types registered costs about as "
        f"much as with {FEW}."
    )
    return right(f"{done} This is what `functools.singledispatch` does.", figures)
