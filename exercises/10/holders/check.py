"""10.holders: the three names in each of four sessions that hold the file, and then the file is let go."""

import secrets

from helpers.make import random_file
from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import KiB, MiB

NAMES = ("batch", "best", "cache", "done", "head", "job", "last", "layer", "model", "rows", "scores", "show", "step")
KEEPER = "def keeper(rows):\n    return lambda at: rows[at]\n\nNAME = keeper"
BATCHES = "def batches(rows):\n    for row in rows:\n        yield float(row)\n\nNAME = batches(weights[2:])\n"
LOAD = "def load(rows):\n    raise ValueError\n\ntry:\n    load(weights[1:])\nexcept ValueError as e:\n    NAME = e"
MODEL = "class Model:\n    def forward(self, at):\n        return self.layers[at]\n\nNAME = Model()\nNAME.layers = "
PARTIAL = (
    "import functools\n\ndef scaled(rows, by):\n    return rows * by\n\nNAME = functools.partial(scaled, weights[6:])"
)
CACHE = "import functools\n\n@functools.lru_cache\ndef NAME(at):\n    return weights[at:]\n\nNAME(3)"

# How the session makes NAME: the cause if it is missed, and what keeps the file.
HOLDERS = {
    "NAME = weights[10:20]": (
        "missed-array",
        "a slice of an array is a view, and its `base` keeps the mapping. `gc.get_referents` of an array doesn't show "
        "the `base`, so ask for it",
    ),
    "NAME = memoryview(weights)[4:8]": ("missed-memoryview", "a slice of a memoryview is a view of the same owner"),
    "NAME = [1, (weights[3], weights[40:][:])]": (
        "missed-list",
        "a list keeps what is in it, at any depth, and `[:]` of an array is a view (of a list it is a copy)",
    ),
    "NAME = {3: weights[::2], 4: 'shown'}": (
        "missed-dict",
        "a dict keeps its values; in every notebook `Out` is such a dict",
    ),
    KEEPER + "(weights[5:])": (
        "missed-closure",
        "a function keeps the variables that it uses from around it, in its `__closure__`",
    ),
    "def NAME(at, rows=weights[8:]):\n    return rows[at]": (
        "missed-default",
        "a function keeps its default arguments, in `__defaults__`",
    ),
    BATCHES + "next(NAME)": (
        "missed-generator",
        "a generator that has not come to its end keeps its frame, and the frame keeps its variables",
    ),
    LOAD: (
        "missed-exception",
        "an exception keeps its traceback, the traceback the frames it came through, and each frame its variables",
    ),
    MODEL + "[weights[:2]]": ("missed-attribute", "an object keeps its attributes"),
    MODEL + "weights\nNAME = NAME.forward": (
        "missed-method",
        "a bound method keeps the object that it belongs to, in `__self__`",
    ),
    PARTIAL: ("missed-partial", "a partial keeps the arguments that it was given"),
    CACHE: ("missed-cache", "a function with a cache keeps what it has returned"),
}
# What looks much the same and holds nothing: why not.
FREE = {
    "NAME = weights[10:20].copy()": "`.copy()` makes an array that owns its bytes",
    "NAME = [weights[:4].copy(), weights.sum()]": "there are a copy and a number in it",
    "NAME = weights[[0, 5, 9]]": "a list as an index copies",
    "NAME = others[10:20]": "it is a view of another file",
    KEEPER + "(weights[5:].tolist())": "its closure has a list of numbers, and these are copies",
    "def NAME(at, rows=bytes(weights)):\n    return rows[at]": "its default argument is a copy of the bytes",
    BATCHES + "list(NAME)": "it has come to its end, and then a generator lets go of its frame",
    LOAD + ".with_traceback(None)": "its traceback was taken away",
    MODEL + "others[:2], 'weights.bin'": "it has a view of another file, and this file's name, which is only a `str`",
    "import weakref\n\nNAME = weakref.ref(weights)": "a weak reference keeps nothing",
    CACHE + "\nNAME.cache_clear()": "its cache was cleared",
    "def NAME(at):\n    return weights[at]": "it uses a global name, which is gone, and has nothing of its own",
}


def run(function, sessions: list[str], path: str, other: str) -> list[tuple]:
    """For each session: the names that the function gave, or its answer as it prints if it is no set, list or tuple of
    words; the session's names; and whether the file was let go when the names given were deleted.

    A session is source that makes its names from `weights` and `others`, arrays over mappings of the two files.
    """
    import gc
    import mmap
    import weakref

    import numpy as np

    def mapped(path):
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    told = []
    for source in sessions:
        mapping = mapped(path)
        session = {"__name__": "__main__", "weights": np.frombuffer(mapping, np.uint8)}
        session["others"] = np.frombuffer(mapped(other), np.uint8)
        exec(compile(source, "<session>", "exec"), session)
        for name in ("__name__", "__builtins__", "weights", "others"):
            session.pop(name, None)
        names = function(session, mapping)
        words = isinstance(names, set | frozenset | list | tuple) and all(isinstance(name, str) for name in names)
        said = sorted({str(name) for name in names}) if words else repr(names)[:200]
        there = list(session)
        for name in said if words else ():
            session.pop(name, None)
        seen = weakref.ref(mapping)
        del mapping, names
        gc.collect()
        told.append((said, there, seen() is None))
        session.clear()
    return told


def judge(attempt: Attempt) -> Verdict:
    path, other = (random_file(attempt.folder / name, 16 * KiB, seed=1) for name in ("weights.bin", "others.bin"))
    sessions = four_sessions()
    sources = [made(session) for session in sessions]
    told = attempt.run(run, sources, str(path), str(other), memory_limit=256 * MiB).value
    for said, names, _ in told:
        if isinstance(said, str):
            raise NotYet("other-type", f"it returned {said}. Return a set of names, as in `{{'rows', 'last'}}`.")
        if unknown := set(said) - set(names):
            why = f"{listed(unknown)}: there is no such name. Return names of the session, as they stand in it."
            raise NotYet("no-such-name", why)
    misnamed(sessions, [said for said, _, _ in told])
    if not all(gone for *_, gone in told):
        why = (
            "the names are right, but when they were deleted the file was still mapped: `find` has kept something of "
            "what it saw, outside of its own variables."
        )
        raise NotYet("kept", why)
    figures = (f"{len(sessions)} sessions", f"{len(HOLDERS)} holders", f"{len(FREE)} names that hold nothing")
    return right("You found the three in each session, and with their names gone the file was let go.", figures)


def four_sessions() -> list[dict[str, str]]:
    """For each its names, with how each is made: three that hold the file and three that do not, in any order."""
    chance = secrets.SystemRandom()
    holders, free = (chance.sample(list(kinds), len(kinds)) for kinds in (HOLDERS, FREE))
    sessions = []
    for at in range(0, len(holders), 3):
        kinds = chance.sample([*holders[at : at + 3], *free[at : at + 3]], 6)
        sessions.append(dict(zip(chance.sample(NAMES, 6), kinds, strict=True)))
    return sessions


def made(session: dict[str, str]) -> str:
    """The source that makes a session's names."""
    return "\n\n".join(kind.replace("NAME", name) for name, kind in session.items())


def misnamed(sessions: list[dict[str, str]], given: list[list[str]]) -> None:
    """NotYet says of one name that it was missed, or that it is one too many: the first in the order of the tables."""
    missed, too_many = {}, {}
    for session, said in zip(sessions, given, strict=True):
        missed |= {kind: name for name, kind in session.items() if kind in HOLDERS and name not in said}
        too_many |= {session.get(name, name): name for name in said if session.get(name) not in HOLDERS}
    for kind, (cause, what) in HOLDERS.items():
        if kind in missed:
            why = f"`{missed[kind]}` holds the file, and you did not name it: {what}.{how(kind, missed[kind])}"
            raise NotYet(cause, why)
    through_globals = set(too_many) - set(FREE)
    for kind, what in FREE.items():
        if kind in too_many and not ("def " in kind and through_globals):
            why = f"`{too_many[kind]}` does not hold the file: {what}.{how(kind, too_many[kind])}"
            raise NotYet("holds-nothing", why)
    if through_globals:
        why = (
            f"{listed(through_globals)}: these are functions, classes and modules, and hold no file. From a function "
            "you came to all global names, by its `__globals__`, and these are the session itself. That way "
            "everything holds everything: do not walk through the session."
        )
        raise NotYet("through-globals", why)


def how(kind: str, name: str) -> str:
    """The source that made a name, in a line."""
    lines = [line.strip() for line in kind.replace("NAME", name).splitlines() if line.strip()]
    return f" It was made by `{'; '.join(lines).replace(':;', ':')}`."


def listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
