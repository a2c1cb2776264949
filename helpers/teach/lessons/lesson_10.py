"""Lesson 10, when zero-copy bites: its exercises and quizzes."""

import math
import os
import secrets
import stat
import weakref
import zlib
from dataclasses import replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np

from ...make import random_file
from ...measure import maps, measure
from ...units import KiB, MiB
from ..carried import lesson_10 as carried
from ..exercises import Attempt, Exercise, Verdict, first_difference, within
from ..quizzes import Choice, Quiz
from .shared import CRASHED, called, on_a_file

# --- 10.save --------------------------------------------------------------------------------------------------
SAVE_BUDGET = 16 * MiB  # of 32; an import of the house's own way takes 11


def check_save(attempt: Attempt) -> Verdict:
    """The new file whole, the old one whole for its readers, synced first, and nothing left when it fails."""
    size = attempt.size + 4 * (1 + secrets.randbelow(1000))  # a tail that does not fill a buffer
    for name in ("shared", "full", "interrupted", "tmp", "here"):
        (attempt.folder / name).mkdir()
    source = random_file(attempt.folder / "source.bin", size, seed=secrets.randbelow(2**31))
    target = random_file(attempt.folder / "shared" / "weights.bin", size, seed=2**31)
    run = attempt.measure(
        carried.saved, str(attempt.folder.resolve()), str(source), np.float64(1), memory_limit=4 * size + 64 * MiB
    )
    if run.ended in CRASHED:
        why = (
            f"a reader that had the old file mapped looked at it meanwhile, and was ended ({run.ended}): the pages "
            'under its mapping were gone. `open(…, "wb")` cuts the file that is there to 0 bytes, under everybody.'
        )
        return Verdict("not yet", why, recording=run)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    told = run.value
    why = seen_meanwhile(told, unlike(target, source)) or unsafe(told)
    if why:
        return Verdict("not yet", why, recording=run)
    done = "The old file stays whole for its readers, the new one comes all at once, a failure leaves nothing"
    verdict = within(run, SAVE_BUDGET, done)
    before, after = (stat.S_IMODE(mode) for mode in told["mode"])
    more = ""
    if verdict.outcome == "right" and before != after:
        more = (
            f" One thing was not asked: the old file had the mode {before:o}, the new one has {after:o}. "
            "(`tempfile` makes files that only their owner may read; `shutil.copymode` mends that.)"
        )
    figures = tuple(one for one in verdict.figures if not one.endswith(" calls"))  # most calls were the reader's
    return replace(verdict, because=verdict.because + more, figures=figures)


def seen_meanwhile(told: dict, differs: str | None) -> str | None:
    """What a reader saw that is neither the old file nor the new one, in the middle or at the end; None if nothing."""
    if told["seen"] == "changed":
        return (
            "a reader that had mapped the old file finds other bytes in its array: you wrote into the very file that "
            "it maps. It needs the old one for as long as it looks; what you write must be another file."
        )
    if told["seen"] == "missing":
        return (
            "there was a moment without a file: who opened it then got FileNotFoundError. `os.replace` takes the old "
            "name away and gives it to the new file in one step."
        )
    if told["seen"] == "half" and not differs:
        return (
            "who opened the file in the middle of it all found a part of the new one. The name may go to the new file "
            "when that is whole: written, flushed, synced, closed."
        )
    if told["elsewhere"]:
        return (
            f"the new file was made in another folder, `{Path(told['elsewhere']).name}`. To rename is one step only "
            "within a file system; where the two lie on different ones it fails with “Invalid cross-device link”. Make "
            "it in the folder of `path`."
        )
    return differs


def unlike(target: Path, source: Path) -> str | None:
    """None if the file holds what was to be saved; else from where on it does not."""
    at = first_difference(target, source) if target.exists() else 0
    if at is None:
        return None
    return f"the new file is not the bytes of the array: from byte {at:,} on they differ, or one of the two ends."


def unsafe(told: dict) -> str | None:
    """What is wrong beside the bytes: litter, no sync, or what was left when it failed; None if nothing."""
    if told["left"]:
        return f"all is saved, but beside the file there is {listed(told['left'])} now."
    if not told["synced"]:
        return (
            "the file got its name before its bytes were known to be on the disk: if the power fails now, the old file "
            "is gone and the new one may be empty. `file.flush()` hands Python's own buffer to the kernel, then "
            "`os.fsync(file.fileno())` waits for the disk; both before the rename."
        )
    for name, what in (("full", "the disk was full half-way"), ("interrupted", "Ctrl-C came while it was syncing")):
        end = told[name]
        if end is None:
            continue
        if not end["raised"]:
            return f"{what}, and `save` returned as if all were well. The caller must hear of it."
        if not end["intact"]:
            return f"{what}, and the old file was no longer what it had been."
        if end["left"]:
            return (
                f"{what}, the old file is as it was, but {listed(end['left'])} stayed beside it. What runs whatever "
                "happens, an exception of any kind too, stands in a `finally`."
            )
    return None


def listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def save_by(body: str) -> str:
    """An answer to 10.save: these lines, with `beside` in the same folder as `path`."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return f"""def save(array, path):
    import os
    import shutil
    import tempfile
    from pathlib import Path
    import numpy as np
    beside = f"{{path}}.new"
{lines}"""


WRITTEN = """with open(beside, "wb") as file:
    file.write(array)
    file.flush()
    os.fsync(file.fileno())
"""
SAVE = Exercise(
    key="10.save",
    title="make a save safe under readers",
    minutes=12,
    prompt="""
A trainer saves its weights over the last ones, every ten minutes. Those who serve the model have that file mapped.
Since then they answer nonsense now and then, or are gone without a traceback.

Mend `save(array, path)`: afterwards the file at `path` (a `str`) holds the bytes of `array`, and nothing else.

- Who has mapped the old file goes on seeing the old bytes. Who opens the file, at whatever moment, finds all of the \
old one or all of the new one.
- The bytes are on the disk before the name is theirs.
- If it fails half-way (the disk is full, somebody presses Ctrl-C), the exception goes on to the caller, the old file \
is as it was, and nothing lies beside it.
- The array is not copied: at most 16 MiB of anonymous memory, for an array of 32.

The check has a reader look before each step of yours. Then it fills the disk, and then it presses Ctrl-C.
""",
    starter='''def save(array, path):
    """Replaces the file at `path` by one that holds the bytes of `array`."""
    with open(path, "wb") as file:
        file.write(array)
''',
    judge=check_save,
    hints=(
        "Write a second file, in the same folder, and give it the name when it is whole: `os.replace(beside, path)` "
        "does that in one step, and whoever has mapped the old file keeps it. What has to happen to the bytes before?",
        "`try:` write, `file.flush()`, `os.fsync(file.fileno())`, close, `os.replace(beside, path)`; `finally:` delete "
        "`beside`, if it is still there. `Path(beside).unlink(missing_ok=True)` does not mind if it is not.",
    ),
    solution_source='''def save(array, path):
    """Replaces the file at `path` by one that holds the bytes of `array`."""
    import os
    from pathlib import Path

    beside = Path(f"{path}.unfinished")
    try:
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
''',
    wrong=(
        (save_by('Path(path).write_bytes(b"")\nPath(path).write_bytes(array)'), "cuts the file that is there"),
        (save_by("array.tofile(path)"), "finds other bytes in its array"),
        (save_by('with open(path, "r+b") as file:\n    file.write(array)'), "finds other bytes in its array"),
        (
            save_by('there = np.memmap(path, np.float32, "r+")\nthere[:] = array\nthere.flush()'),
            "finds other bytes in its array",
        ),
        (save_by(WRITTEN + "shutil.copyfile(beside, path)\nos.remove(beside)"), "finds other bytes in its array"),
        (save_by("os.remove(path)\narray.tofile(path)"), "a moment without a file"),
        (save_by(WRITTEN + "os.remove(path); os.rename(beside, path)"), "a moment without a file"),
        (
            save_by(
                "with open(beside, 'wb') as file:\n"
                "    for at in range(0, array.size, 2**18):\n"
                "        file.write(array[at : at + 2**18])\n"
                "    os.fsync(file.fileno())\n"
                "    os.replace(beside, path)"
            ),
            "found a part of the new one",
        ),
        (
            save_by("beside = f'{tempfile.gettempdir()}/weights.new'\n" + WRITTEN + "os.replace(beside, path)"),
            "was made in another folder, tmp",
        ),
        (save_by('beside = "weights.new"\n' + WRITTEN + "os.replace(beside, path)"), "made in another folder, here"),
        (save_by("np.save(beside, array)\nos.replace(f'{beside}.npy', path)"), "not the bytes of the array"),
        (save_by('os.link(path, f"{path}.old")\n' + WRITTEN + "os.replace(beside, path)"), "weights.bin.old now"),
        (save_by("array.tofile(beside)\nos.replace(beside, path)"), "before its bytes were known to be on the disk"),
        (
            save_by(
                "with open(beside, 'wb') as file:\n"
                "    for at in range(0, array.size, 2**18):\n"
                "        file.write(array[at : at + 2**18])\n"
                "    os.fsync(file.fileno())\n"
                "os.replace(beside, path)"
            ),
            "before its bytes were known to be on the disk",
        ),
        (save_by(WRITTEN + "os.replace(beside, path)"), "the old file is as it was, but weights.bin.new stayed"),
        (
            save_by(
                "try:\n"
                + "".join(f"    {line}\n" for line in WRITTEN.splitlines())
                + "    os.replace(beside, path)\nexcept OSError as error:\n    print(error)\n    os.remove(beside)"
            ),
            "returned as if all were well",
        ),
        (
            save_by(
                "try:\n"
                + "".join(f"    {line}\n" for line in WRITTEN.splitlines())
                + "    os.replace(beside, path)\nexcept Exception:\n    os.remove(beside)\n    raise"
            ),
            "Ctrl-C came while it was syncing, the old file is as it was, but",
        ),
        (
            save_by(
                "try:\n"
                + "".join(f"    {line}\n" for line in WRITTEN.replace("array", "array.tobytes()").splitlines())
                + "    os.replace(beside, path)\nfinally:\n    Path(beside).unlink(missing_ok=True)"
            ),
            "of anonymous memory at its peak; the budget is 16 MiB",
        ),
    ),
    size=32 * MiB,
)


# --- 10.holders -----------------------------------------------------------------------------------------------
NAMES = ("batch", "best", "cache", "done", "head", "job", "last", "layer", "model", "rows", "scores", "show", "step")
MODEL = "class Model:\n    def forward(self, at):\n        return self.layers[at]\n\n{n} = Model()\n{n}.layers = "
KEEPER = "def keeper(rows):\n    return lambda at: rows[at]\n\n{n} = keeper"
BATCHES = "def batches(rows):\n    for row in rows:\n        yield float(row)\n\n{n} = batches(weights[2:])\n"
LOAD = (
    "def load(rows):\n    raise ValueError\n\ntry:\n    load(weights[1:])\nexcept ValueError as error:\n    {n} = error"
)
PARTIAL = (
    "import functools\n\ndef scaled(rows, by):\n    return rows * by\n\n{n} = functools.partial(scaled, weights[6:])"
)
CACHE = "import functools\n\n@functools.lru_cache\ndef {n}(at):\n    return weights[at:]\n\n{n}(3)"

# How the session makes a name: what it is.
HOLDERS = {
    "{n} = weights[10:20]": "a slice of an array is a view, and its `base` keeps the mapping. Of an array "
    "`gc.get_referents` shows nothing, so ask for the `base`",
    "{n} = memoryview(weights)[4:8]": "a slice of a memoryview is a view of the same owner",
    "{n} = [1, (weights[3], weights[40:][:])]": "a list keeps what is in it, at any depth, and `[:]` of an array is a "
    "view (of a list it is a copy)",
    "{n} = {{3: weights[::2], 4: 'shown'}}": "a dict keeps its values; in every notebook `Out` is such a dict",
    KEEPER + "(weights[5:])": "a function keeps the variables that it uses from around it, in its `__closure__`",
    "def {n}(at, rows=weights[8:]):\n    return rows[at]": "a function keeps its default arguments, in `__defaults__`",
    BATCHES + "next({n})": "a generator that has not come to its end keeps its frame, and that its variables",
    LOAD: "an exception keeps its traceback, that the frames on its way, and these their variables",
    MODEL + "[weights[:2]]": "an object keeps its attributes",
    MODEL + "weights\n{n} = {n}.forward": "a bound method keeps the object that it belongs to, in `__self__`",
    PARTIAL: "a partial keeps the arguments that it was given",
    CACHE: "a function with a cache keeps what it has returned",
}
FREE = {
    "{n} = weights[10:20].copy()": "`.copy()` makes an array that owns its bytes",
    "{n} = [weights[:4].copy(), weights.sum()]": "there are a copy and a number in it",
    "{n} = weights[[0, 5, 9]]": "a list as an index copies",
    "{n} = others[10:20]": "it is a view of another file",
    KEEPER + "(weights[5:].tolist())": "its closure has a list of numbers, and these are copies",
    "def {n}(at, rows=bytes(weights)):\n    return rows[at]": "its default argument is a copy of the bytes",
    BATCHES + "list({n})": "it has come to its end, and then a generator lets go of its frame",
    LOAD + ".with_traceback(None)": "its traceback was taken away",
    MODEL + "others[:2], 'weights.bin'": "it has a view of another file, and the name of this one, which is a `str`",
    "import weakref\n\n{n} = weakref.ref(weights)": "a weak reference keeps nothing",
    CACHE + "\n{n}.cache_clear()": "its cache was cleared",
    "def {n}(at):\n    return weights[at]": "it uses a global name, which is gone, and has nothing of its own",
}


def check_holders(attempt: Attempt) -> Verdict:
    """The right names in four sessions, each with three that hold the file; and then the file is let go."""
    path, other = (random_file(attempt.folder / name, 16 * KiB, seed=1) for name in ("weights.bin", "others.bin"))
    sessions = four_sessions()
    run = attempt.measure(
        carried.searched, [made(one) for one in sessions], str(path), str(other), memory_limit=256 * MiB
    )
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    why = misnamed(sessions, run.value)
    if why:
        return Verdict("not yet", why, recording=run)
    figures = (f"{len(sessions)} sessions", f"{len(HOLDERS)} holders", f"{len(FREE)} names that hold nothing")
    done = "You found the three in each session, and with their names gone the file was let go."
    return Verdict("right", done, figures, run)


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
    return "\n\n".join(kind.format(n=name) for name, kind in session.items())


def misnamed(sessions: list[dict[str, str]], told: list[tuple]) -> str | None:
    """What is wrong with the names given: no names, one missed, one too many, in the order of the tables; or None."""
    missed, too_many = {}, {}
    for session, (said, names, _) in zip(sessions, told, strict=True):
        if isinstance(said, str):
            return f"it returned {said}. Return a set of names, as in `{{'rows', 'last'}}`."
        if unknown := sorted(set(said) - set(names)):
            return f"{listed(unknown)}: there is no such name. Return names of the session, as they stand in it."
        missed |= {kind: name for name, kind in session.items() if kind in HOLDERS and name not in said}
        too_many |= {session.get(name, name): name for name in said if session.get(name) not in HOLDERS}
    for kind, what in HOLDERS.items():
        if kind in missed:
            return f"`{missed[kind]}` holds the file, and you did not name it: {what}.{how(kind, missed)}"
    through_globals = set(too_many) - set(FREE)
    for kind, what in FREE.items():
        if kind in too_many and not ("def " in kind and through_globals):
            return f"`{too_many[kind]}` does not hold the file: {what}.{how(kind, too_many)}"
    if through_globals:
        return (
            f"{listed(sorted(through_globals))}: these are functions, classes and modules, and hold no file. From a "
            "function you came to all global names, by its `__globals__`, and these are the session itself. By that "
            "way everything holds everything: do not walk through the session."
        )
    if not all(gone for _, _, gone in told):
        return (
            "the names are right, but when they were deleted the file was still mapped: `find` has kept something of "
            "what it saw, outside of its own variables."
        )
    return None


def how(kind: str, names: dict[str, str]) -> str:
    """The source that made a name, in a line."""
    lines = [line.strip() for line in kind.format(n=names[kind]).splitlines() if line.strip()]
    return f" It was made by `{'; '.join(lines).replace(':;', ':')}`."


FIND = '''def find(session, mapping):
    """The names in `session` from which one comes to `mapping`."""
    import gc
    import types

    import numpy as np

    def reaches(value):
        seen, todo = {id(session)}, [value]
        while todo:
            one = todo.pop()
            if one is mapping:
                return True
            if id(one) in seen or isinstance(one, types.ModuleType):
                continue
            seen.add(id(one))
            todo += gc.get_referents(one)
            if isinstance(one, np.ndarray):
                todo.append(one.base)
        return False

    return {name for name, value in session.items() if reaches(value)}
'''
HOLDERS_EXERCISE = Exercise(
    key="10.holders",
    title="find the three holders",
    minutes=15,
    prompt="""
A user writes: “I loaded a model, took what I needed, did `del model`, and `gc.collect()`. On Linux the disk is still
full although I have deleted the file, and my colleague on Windows cannot delete it at all. Nothing of mine uses it.”

Three of the user's names do. `who_holds` finds such names; here you write its core. `find(session, mapping)` gets

- `session`: a dict, the names of a notebook and their values. Any kind of value: arrays, lists, functions, \
generators, exceptions, objects, modules.
- `mapping`: the `mmap.mmap` object of the file.

It returns a set of names: those that keep the mapping alive. When these are deleted, the file is unmapped.

`gc.get_referents(x)` lists what `x` refers to, whatever `x` is, with one exception: of a numpy array it does not show
the `base`. The check makes four sessions, asks for the names, deletes them, and looks whether the mapping is gone.
""",
    starter='''def find(session, mapping):
    """The names in `session` from which one comes to `mapping`."""
    ...
''',
    judge=check_holders,
    hints=(
        "Begin with a value, and go from each object to all that it refers to, until you come to `mapping` (`is`) or "
        "there is nothing new. Keep the `id` of what you have seen, for there are cycles. For an array add its `base`.",
        "A function refers to its globals, and these are the session: everything leads to everything. So count the "
        "session as seen before you begin, `seen = {id(session)}`, and do not go into modules (`types.ModuleType`).",
    ),
    solution_source=FIND,
    wrong=(
        *(
            (FIND.replace(old, new), message)
            for old, new, message in (
                (
                    "            if isinstance(one, np.ndarray):\n                todo.append(one.base)\n",
                    "",
                    "a slice of an array is a view, and its base keeps the mapping",
                ),
                (
                    "todo += gc.get_referents(one)",
                    "todo += [x for x in gc.get_referents(one) if type(x).__name__ != 'managedbuffer']",
                    "a slice of an array is a view",
                ),
                (
                    "todo += gc.get_referents(one)",
                    "todo += gc.get_referents(one) if not isinstance(one, list) else []",
                    "a list keeps what is in it, at any depth",
                ),
                (
                    "types.ModuleType",
                    "types.ModuleType | types.FunctionType",
                    "a function keeps the variables that it uses from around it",
                ),
                ("types.ModuleType", "types.ModuleType | types.CellType", "in its __closure__"),
                ("types.ModuleType", "types.ModuleType | types.GeneratorType", "not come to its end keeps its frame"),
                (
                    "types.ModuleType",
                    "types.ModuleType | types.FrameType",
                    "an exception keeps its traceback, that the frames on its way",
                ),
                (
                    "types.ModuleType",
                    "types.ModuleType | types.MethodType",
                    "a bound method keeps the object that it belongs to",
                ),
                ("seen, todo = {id(session)}", "seen, todo = set()", "do not walk through the session"),
                (
                    "return {name for name, value in session.items() if reaches(value)}",
                    "return set(session)",
                    ".copy() makes an array that owns its bytes",
                ),
                (
                    "return {name for name, value in session.items() if reaches(value)}",
                    "return [value for value in session.values() if reaches(value)]",
                    "Return a set of names",
                ),
                (
                    "return {name for name, value in session.items() if reaches(value)}",
                    "return {f'session[{name}]' for name, value in session.items() if reaches(value)}",
                    "there is no such name",
                ),
            )
        ),
        (
            "kept = []\n\n"
            + FIND.replace("            one = todo.pop()", "            kept.append(one := todo.pop())"),
            "find has kept something of what it saw",
        ),
        (
            """def find(session, mapping):
    import numpy as np
    return {name for name, value in session.items() if isinstance(value, np.ndarray | memoryview)}
""",
            "a list keeps what is in it",
        ),
    ),
    size=16 * KiB,
)


# --- 10.windows -----------------------------------------------------------------------------------------------
BUDGET = 8 * MiB
MOMENT, SOONEST, LATEST, TRIES = 0.3, 0.5, 2.5, 50  # seconds, seconds, seconds, and how often it may try


def check_windows(attempt: Attempt) -> Verdict:
    """The layer, one's own; the new file in place as soon as nobody has the old one mapped; else the error, in time."""
    count = 64 * KiB
    cases = []
    for name, size, stays in (("nobody", attempt.size, 0), ("leaves", MiB, MOMENT), ("stays", MiB, math.inf)):
        (attempt.folder / name).mkdir()
        path = random_file(attempt.folder / name / "weights.bin", size, seed=secrets.randbelow(2**31))
        new = random_file(attempt.folder / name / "next.bin", size, seed=2**31)
        offset = 4 * (16 * KiB + 1 + secrets.randbelow(16 * KiB))
        layer = np.fromfile(path, np.float32, count, offset=offset)
        wanted = "float32", layer.shape, zlib.crc32(layer.tobytes())
        cases.append((str(path.resolve()), offset, count, str(new.resolve()), wanted, stays))
    run = attempt.measure(carried.swapped, cases, np.float64(1), memory_limit=4 * attempt.size + 64 * MiB)
    if run.ended == "raised" and "exported pointers exist" in (run.error or ""):
        why = (
            "it raised BufferError: cannot close exported pointers exist. You close the mapping, and that is right; "
            "but a view of it still has a name. Copy, and let the view go, before the mapping closes."
        )
        return Verdict("not yet", why, recording=run)
    if run.ended == "raised" and "Windows error 1224" in (run.error or ""):
        why = (
            "you opened the old file for writing while it was mapped; Windows does not let a mapped file be cut. "
            "`os.replace(new, path)` puts another file in its place."
        )
        return Verdict("not yet", why, recording=run)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    for end, (*_, wanted, _), fault in zip(run.value, cases, (alone, when_it_leaves, while_it_stays), strict=False):
        why = fault(end, wanted)
        if why:
            return Verdict("not yet", why, recording=run)
    verdict = within(run, BUDGET, "You hold nothing of the old file, you wait for who does, you give up in time")
    if verdict.outcome == "right" and os.name != "nt" and maps.why_not():
        more = " Whether a mapping of your own was open could not be seen here; Windows would have seen it."
        return replace(verdict, because=verdict.because + more)
    return verdict


def alone(end: dict, wanted: tuple) -> str | None:
    """What is wrong where nobody else has the file; None if nothing."""
    if end["raised"] and end["why"] != "open":
        had = end["why"] or "mapped, or open"
        return (
            f"nobody else had the file, and yet it could not be replaced: you still had it {had}. A view keeps its "
            "mapping, `[:]` makes one more view, and so does a `np.memmap` that still has a name. `.copy()` what you "
            "need, and let go of the rest before you replace."
        )
    if end["raised"]:
        return (
            "nobody else had the file, and yet it could not be replaced: you still had it open. On Windows an open "
            "file can no more be replaced than a mapped one; `with` closes it."
        )
    return not_swapped(end) or not_the_layer(end["layer"], wanted)


def not_swapped(end: dict) -> str | None:
    """None if the new file has taken the place of the old one, in one step."""
    if end["removed"]:
        return (
            "you took the old file's name away before you gave it to the new one. In between there is no file, and if "
            "the next step fails, none afterwards. `os.replace` does both in one step."
        )
    if not end["moved"]:
        return (
            "it returned, and the file at `path` is not the one that was at `new`. Move it there, by "
            "`os.replace(new, path)`: to copy its bytes would change the old file under its readers."
        )
    return None


def not_the_layer(layer: tuple | str, wanted: tuple) -> str | None:
    """None if what was returned is the layer, as (dtype, shape, CRC-32 of its bytes); a type's name is no array."""
    if isinstance(layer, str):
        return f"it returned {called(layer)}. The caller wants the old layer, an array of numpy's."
    if layer[:2] != wanted[:2]:
        return (
            f"it returned an array of `{layer[0]}`, shape {layer[1]}; the layer has `{wanted[0]}`, shape {wanted[1]}."
        )
    if layer != wanted:
        return "the array has not the numbers of the layer: it begins at byte `offset` of the old file."
    return None


def when_it_leaves(end: dict, wanted: tuple) -> str | None:
    """What is wrong where somebody else has the file mapped for a moment; None if nothing."""
    if end["raised"]:
        once = "you tried once" if end["tries"] == 1 else f"you tried {end['tries']} times in {end['seconds']:.2f} s"
        return f"another program had the file mapped for {MOMENT} s, and {once} and gave up. Wait, and try again."
    return too_often(end) or not_swapped(end) or not_the_layer(end["layer"], wanted)


def too_often(end: dict) -> str | None:
    if end["tries"] <= TRIES:
        return None
    return (
        f"another program had the file mapped, and you tried {end['tries']:,} times in {end['seconds']:.1f} s; {TRIES} "
        "are the most. Sleep between two tries, and longer each time."
    )


def while_it_stays(end: dict, wanted: tuple) -> str | None:
    """What is wrong where somebody else has the file mapped all the time; None if nothing."""
    if not end["intact"]:
        return "another program had the file mapped all the time, and now the old file is not what it was."
    if not end["waits"]:
        return "another program had the file mapped all the time, and when you gave up, the new file was gone."
    if not end["raised"]:
        return (
            "another program had the file mapped all the time, the new one could not take its place, and `swap` "
            "returned as if it had. Raise the PermissionError again."
        )
    if end["seconds"] < SOONEST:
        return f"you gave up after {end['seconds']:.2f} s. Who reads a file is often done in a second."
    if end["seconds"] > LATEST:
        return f"you tried for {end['seconds']:.1f} s, and somebody waits. Give up after about a second."
    return too_often(end)


def swap_by(*lines: str) -> str:
    """An answer to 10.windows: these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def swap(path, offset, count, new):\n    import mmap, os, shutil, time\n    import numpy as np\n{body}"


READ = "layer = np.fromfile(path, np.float32, count, offset=offset)"
MAP = "mapping = np.memmap(path, np.float32, 'r', offset, (count,))"
RETRY = (
    "for pause in [0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5]:",
    "    try:",
    "        os.replace(new, path)",
    "        return layer",
    "    except PermissionError as error:",
    "        last = error",
    "        time.sleep(pause)",
    "raise last",
)
WINDOWS = Exercise(
    key="10.windows",
    title="write the loader that works on Windows too",
    minutes=15,
    prompt="""
A service takes one layer from the file of weights, keeps it, and then puts a new file in the place of the old one. On
Linux it runs. On Windows it raises `PermissionError: [WinError 5] Access is denied`: there no file can be replaced, or
deleted, while anybody has it mapped, or even open.

Mend `swap(path, offset, count, new)`. `path` is the old file, `new` a whole new one, in the same folder. It returns an
array: the `count` float32 numbers from byte `offset` of the old file; and afterwards `new` has become `path`.

- It holds nothing of the old file when it replaces it: no mapping, no open file.
- Another program may have the old file mapped for a moment. Try again for about a second, at most 50 times.
- If that does not help, the PermissionError goes on to the caller, and both files are as they were.
- The layer is small and the file is large: at most 8 MiB of anonymous memory.

The check makes this machine refuse what Windows refuses. (On Windows it need not: there the real calls refuse.)
""",
    starter='''def swap(path, offset, count, new):
    """Returns a layer of the file at `path`, and puts the file `new` in its place."""
    import os

    import numpy as np

    layer = np.memmap(path, np.float32, "r", offset, (count,))
    os.replace(new, path)
    return layer
''',
    judge=check_windows,
    hints=(
        "Two things keep the file: the array, which is a view, and every name that the mapping has. `.copy()` the "
        "layer; then the mapping must go. And around `os.replace` goes a loop with `except PermissionError`.",
        "`with open(…) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:` and inside it "
        "`layer = np.frombuffer(mapping, np.float32, count, offset).copy()`, where the view has no name. Then try, "
        "sleep, and try again until `time.monotonic()` says that it was long enough; at last `raise`.",
    ),
    solution_source='''def swap(path, offset, count, new):
    """Returns a layer of the file at `path`, and puts the file `new` in its place."""
    import mmap
    import os
    import time

    import numpy as np

    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping,
    ):
        layer = np.frombuffer(mapping, np.float32, count, offset).copy()

    pause, until = 0.01, time.monotonic() + 1
    while True:
        try:
            os.replace(new, path)
            return layer
        except PermissionError:
            if time.monotonic() > until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.2)
''',
    wrong=(
        (swap_by(MAP, "layer = mapping[:]", *RETRY), "[:] makes one more view"),
        (swap_by(MAP, "layer = mapping.copy()", *RETRY), "a np.memmap that still has a name"),
        (
            swap_by(
                "with open(path, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:",
                "    view = np.frombuffer(mapping, np.float32, count, offset)",
                "    layer = view.copy()",
                *RETRY,
            ),
            "but a view of it still has a name",
        ),
        (
            swap_by("file = open(path, 'rb')", READ.replace("path", "file"), *RETRY),
            "you still had it open",
        ),
        (swap_by("layer = np.fromfile(path, np.float32)[offset // 4 :][:count].copy()", *RETRY), "the budget is 8 MiB"),
        (swap_by(*RETRY[:3], f"        return {READ[8:]}", *RETRY[4:]), "begins at byte offset of the old file"),
        (swap_by(READ, *RETRY[:3], "        return", *RETRY[4:]), "it returned nothing"),
        (swap_by(READ, "os.remove(path)", *RETRY), "took the old file's name away"),
        (swap_by(READ, "os.replace(path, path + '.old')", *RETRY), "took the old file's name away"),
        (swap_by(READ, "shutil.copyfile(new, path)", "return layer"), "is not the one that was at new"),
        (swap_by(MAP, "shutil.copyfile(new, path)", "return mapping.copy()"), "does not let a mapped file be cut"),
        (swap_by(READ, "os.replace(new, path)", "return layer"), "you tried once and gave up"),
        (swap_by(READ, *RETRY[:6], "        time.sleep(0.01)", RETRY[7]), "you tried 7 times in 0.0"),
        (
            swap_by(READ, "until = time.monotonic() + 1", "while time.monotonic() < until:", *RETRY[1:6], RETRY[7]),
            "50 are the most",
        ),
        (swap_by(READ, *RETRY[:7], "return layer"), "returned as if it had"),
        (swap_by(READ, *RETRY[:7], "os.remove(new)", RETRY[7]), "when you gave up, the new file was gone"),
        (
            swap_by(READ, "for pause in [0.02] * 20:", *RETRY[1:]),
            "you gave up after 0.4",
        ),
        (swap_by(READ, "while True:", *RETRY[1:6], "        time.sleep(0.1)"), "it was still running after"),
        (swap_by(READ, "for pause in [0.2] * 14:", *RETRY[1:]), "Give up after about a second"),
    ),
    size=32 * MiB,
)

EXERCISES = (SAVE, HOLDERS_EXERCISE, WINDOWS)


# --- quizzes --------------------------------------------------------------------------------------------------
def kept_by(path: Path) -> int | None:
    """0 if a mapping stays, after `del` in a notebook, where a slice was shown by its cell, and goes where printed."""

    def goes(path, cell):
        import gc
        import os
        import tempfile
        import weakref
        from contextlib import redirect_stdout
        from io import StringIO

        with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
            os.environ["IPYTHONDIR"] = folder
            from IPython.core.interactiveshell import InteractiveShell
            from traitlets.config import Config

            shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
            shell.run_cell(f"import numpy as np\nweights = np.memmap({path!r}, np.uint8, 'r')", store_history=True)
            gone = weakref.ref(shell.user_ns["weights"]._mmap)
            shell.run_cell(cell, store_history=True)
            shell.run_cell("del weights", store_history=True)
            gc.collect()
            return gone() is None

    shown, printed = (measure(goes, str(path), cell).value for cell in ("weights[:3]", "print(weights[:3])"))
    return 0 if (shown, printed) == (False, True) else None


def caught(path: Path) -> int | None:
    """3 if reading past the new end of a mapped file ends the process, `except` or not, and 0 is read before that."""

    def read_in_try(path, at):
        import os
        from mmap import ACCESS_READ, mmap

        with open(path, "rb") as file:
            view = mmap(file.fileno(), 0, access=ACCESS_READ)
        os.truncate(path, 100)
        try:
            return view[at]
        except Exception:
            return "caught"

    if os.name != "posix":  # Windows does not let a mapped file be cut
        return None
    after, before = (measure(read_in_try, str(random_file(path, 16 * MiB)), at) for at in (-1, 200))
    if after.ended in CRASHED and before.value == 0:
        return 3
    return {"caught": 0, 0: 1}.get(after.value)


def let_go(path: Path) -> int | None:
    """Which of the four ways to take a row keeps nothing of the mapping."""
    ways = (lambda row: row[:], np.asarray, lambda row: row.copy(), lambda row: row.reshape(-1))
    gone = []
    for way in ways:
        with path.open("rb") as file:
            mapping = mmap(file.fileno(), 0, access=ACCESS_READ)
        seen = weakref.ref(mapping)
        kept = way(np.frombuffer(mapping, np.uint8).reshape(-1, KiB)[7])
        del mapping
        gone.append(seen() is None and kept.size == KiB)
    return gone.index(True) if sum(gone) == 1 else None


QUIZZES = (
    Quiz(
        "10.del",
        "In a notebook: `weights = np.memmap(path, …)`, then a cell with `weights[:3]`, which is shown, "
        "then `del weights` and `gc.collect()`. The file is still mapped. Who has it?",
        (
            Choice(
                "The notebook: `Out` and `_` keep what a cell showed, and that was a view.",
                True,
                "Yes. The last line of a cell is shown and kept, as `Out[2]` and as `_`. The three numbers are a view, "
                "the view keeps the mapping, and that the whole file. `print(weights[:3])` would have kept nothing.",
            ),
            Choice(
                "numpy: it keeps a mapping for the next time.",
                False,
                "numpy has no such store. When the last array goes, the mapping goes.",
            ),
            Choice(
                "The kernel: it unmaps when it needs the room.",
                False,
                "The page cache keeps *pages* for as long as there is room. A mapping belongs to the process, and goes "
                "at the moment in which it is closed.",
            ),
            Choice(
                "Nobody: `del` is done when the cell has ended.",
                False,
                "`del` takes the name away at once, and in a plain script that would have been the end of it. There "
                "is one more reference, and it has no name of yours.",
            ),
        ),
        on_a_file(kept_by),
    ),
    Quiz(
        "10.sigbus",
        "A process has a file of 16 MiB mapped as `view`. Another program cuts the file to 100 bytes. Then the process "
        "does `try: x = view[-1]`, `except Exception: x = None`. What is `x`?",
        (
            Choice(
                "None: the read raises an OSError, and that is caught.",
                False,
                "`file.read()` asks the kernel, and the kernel can answer with an error. A mapped page is read by the "
                "processor; nobody is asked, so nobody can answer. There is nothing to catch.",
            ),
            Choice(
                "0: what the file no longer has is read as zeros.",
                False,
                "That is so up to the end of the last page that the file still has: `view[200]` is 0, without a word. "
                "`view[-1]` lies far beyond.",
            ),
            Choice(
                "The old byte: the mapping was made when it was there.",
                False,
                "A mapping copies nothing. That is so when the file is *replaced*, for then the mapping keeps the old "
                "one; here the file itself was cut.",
            ),
            Choice(
                "Nothing: the process is ended, and the `except` never runs.",
                True,
                "Yes, by SIGBUS: there is no page to show at that address. A signal is no exception. Who cannot trust "
                "those who write the file should read it, not map it.",
            ),
        ),
        on_a_file(caught),
    ),
    Quiz(
        "10.slice",
        "`weights` is a mapped array of two dimensions and `row = weights[7]`. One row shall be kept and the file let "
        "go. All other names are deleted afterwards. Which line does it?",
        (
            Choice(
                "`kept = row[:]`",
                False,
                "For a list that is a copy. For an array it is one more view, of all of it.",
            ),
            Choice(
                "`kept = np.asarray(row)`",
                False,
                "`asarray` copies only if it must. `row` is an array already, so it gives back that very one. "
                "(`np.array(row)` copies.)",
            ),
            Choice(
                "`kept = row.copy()`",
                True,
                "Yes: it owns its bytes, and its `base` is None. One row is copied, and the whole file is free.",
            ),
            Choice(
                "`kept = row.reshape(-1)`",
                False,
                "`reshape` gives a view whenever the new shape can be had without moving a byte, and here it can.",
            ),
        ),
        on_a_file(let_go),
    ),
)
