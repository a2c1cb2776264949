"""Lesson 08, deserialize without copying: its exercises and quizzes."""

import ctypes
import json
import mmap
import pickle
import secrets
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...ideas.safetensors import TensorFile, save
from ...make import whole_file
from ...measure import Recording, maps, page_map
from ...units import KiB, MiB, in_words
from ..carried import lesson_08 as carried
from ..carried import some
from ..exercises import Attempt, Exercise, Verdict, within
from ..quizzes import Choice, Quiz
from .shared import CRASHED, called, on_a_file

BUDGET = MiB


# --- 08.reader ------------------------------------------------------------------------------------------------
KINDS = {1: "<f4", 2: "<i8", 3: "|u1"}
ENTRY = struct.Struct("<16s3IQ")
DAMAGES = {
    "magic": "whose first bytes are not ZCM1",
    "head": "of 6 bytes",
    "table": "that ends within its table",
    "count": "that promises 16,777,216 arrays",
    "kind": "with an array of kind 7",
    "data": "that ends within its last array",
    "offset": "with an array that begins beyond its end",
    "far": "with an offset of 2**64 - 8",
    "shape": "with an array of 2**31 rows and 2**31 columns",
    "inside": "with an array that begins inside the table",
    "odd": "with an offset that is no multiple of 8",
}


def check_read(attempt: Attempt) -> Verdict:
    """The arrays of a sound file, lent by a mapping of it; and ValueError for every damaged one."""
    path, arrays = zcm(attempt.folder / "model.zcm", attempt.size)
    here = np.float64(1)  # see carried.read_whole
    run = attempt.measure(carried.read_whole, str(path), here, memory_limit=4 * attempt.size + 64 * MiB)
    why = stopped_by_its_mapping(run)
    if why:
        return Verdict("not yet", why, recording=run)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    why = not_read(run.value, arrays)
    verdict = within(run, BUDGET, "The arrays are right and borrowed from the file")
    if why or verdict.outcome != "right":
        return Verdict("not yet", why, recording=run) if why else verdict
    paths = [damaged(attempt.folder / f"{kind}.zcm", kind) for kind in (*DAMAGES, "none")]
    again = attempt.measure(carried.refused, [str(path) for path in paths], here, memory_limit=64 * MiB)
    if again.ended == "memory limit":
        why = (
            "a damaged file of a few hundred bytes names a huge number, and your reader was stopped when it had taken "
            f"{in_words(64 * MiB, 'bytes')} for it. Compare a number with the file's length before you use it."
        )
        return Verdict("not yet", why, recording=again)
    stopped = attempt.unless_returned(again)
    if stopped:
        return stopped
    *refused, sound = again.value
    if sound is not None:
        return Verdict("not yet", f"a sound file of {paths[-1].stat().st_size} bytes ended in {sound}", recording=again)
    for does, raised in zip(DAMAGES.values(), refused, strict=True):
        why = not_refused(raised)
        if why:
            return Verdict("not yet", f"for a file {does}: {why}", recording=again)
    return Verdict(
        "right", f"{verdict.because} All {len(DAMAGES)} damaged files were refused.", verdict.figures, verdict.recording
    )


def zcm(path: Path, size: int) -> tuple[Path, dict[str, np.ndarray]]:
    """A file of that format that the student's code has not seen, of about `size` bytes, and its arrays."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    rows, columns = rng.integers(100, 200, 2)
    parts = rng.integers(0, 256, (size // 4 // 1024, 1024), "u1")
    arrays = {
        "labels": rng.integers(0, 256, (int(rows), 3), "u1"),
        "embedding.weight": parts / np.float32(256),  # multiples of 1/256: every sum is exact
        "ids": rng.integers(0, 2**32, (int(rows), int(columns)), "i8"),
        "bias": rng.integers(0, 256, (1, int(columns)), "u1") / np.float32(256),
    }
    names = secrets.SystemRandom().sample(list(arrays), len(arrays))
    pieces = written({name: arrays[name] for name in names})
    with whole_file(path, sum(map(len, pieces))) as file:
        file.writelines(pieces)
    return path, arrays


def written(arrays: Mapping[str, np.ndarray], **wrong: int) -> list[bytes]:
    """The file of these arrays, in pieces. `wrong`: its count, or the kind, rows, columns, offset of the last array."""
    at, entries, data = 8 + ENTRY.size * len(arrays), [], []
    for name, array in arrays.items():
        data += [bytes(-at % 8), array.tobytes()]
        begin, at = at + len(data[-2]), at + len(data[-2]) + len(data[-1])
        kind = next(number for number, dtype in KINDS.items() if array.dtype == dtype)
        entries.append({"name": name.encode(), "kind": kind, "rows": len(array), "columns": array.shape[1]})
        entries[-1]["offset"] = begin
    entries[-1] |= {field: value for field, value in wrong.items() if field != "count"}
    table = [ENTRY.pack(*entry.values()) for entry in entries]
    return [b"ZCM1", struct.pack("<I", wrong.get("count", len(arrays))), *table, *data]


def damaged(path: Path, kind: str) -> Path:
    """A small file with that damage, one of DAMAGES or "none", and nothing else wrong."""
    arrays = {"one": np.arange(6, dtype="f4").reshape(2, 3), "two": np.arange(8, dtype="i8").reshape(4, 2)}
    sound = b"".join(written(arrays))
    data = {
        "none": sound,
        "magic": b"ZCM2" + sound[4:],
        "head": sound[:6],
        "table": sound[: 8 + 2 * ENTRY.size - 4],
        "count": b"".join(written(arrays, count=2**24)),
        "kind": b"".join(written(arrays, kind=7)),
        "data": sound[:-16],
        "offset": b"".join(written(arrays, offset=4096)),
        "far": b"".join(written(arrays, offset=2**64 - 8)),
        "shape": b"".join(written(arrays, rows=2**31, columns=2**31)),
        "inside": b"".join(written(arrays, offset=16)),
        "odd": b"".join(written(arrays, rows=1, offset=len(sound) - 20)),
    }
    path.write_bytes(data[kind])
    return path


def stopped_by_its_mapping(run: Recording) -> str | None:
    """What to say if the mapping was closed under the arrays, or could not be; None if it was not that."""
    if run.ended in CRASHED:
        return (
            f"when the arrays were read the process was ended ({run.ended}): where they look nothing is mapped any "
            "more. Who has closed the mapping, and which function made an array that is not counted?"
        )
    if run.ended == "raised" and "exported pointers exist" in (run.error or ""):
        return (
            "it raised BufferError: cannot close exported pointers exist. The arrays borrow from the mapping, which "
            "`with` or `close` wants to end when `read` returns. Leave it to the last array to let go."
        )
    return None


def not_read(told: dict, arrays: Mapping[str, np.ndarray]) -> str | None:
    """The first thing that is wrong with what the reader made of a sound file; None if nothing is."""
    if told["arrays"] is None:
        return f"it returned {called(told['type'])}. Return a dict: name to array."
    if set(told["arrays"]) != set(arrays):
        odd = sorted(set(told["arrays"]) - set(arrays))
        return (
            f"your dict has the name {odd[0]!r}, which is none of the file's. A name has no zeros at its end, and is a "
            "`str`."
            if odd
            else f"`{sorted(set(arrays) - set(told['arrays']))[0]}` is missing."
        )
    for name, array in arrays.items():
        seen = told["arrays"][name]
        if seen["dtype"] is None:
            return f"`{name}` is {called(seen['type'])}, and not an array."
        if seen["dtype"] != str(array.dtype):
            endian = " Every number in the file is little-endian." if seen["dtype"].startswith(">") else ""
            return f"`{name}` is `{seen['dtype']}`; the table says `{array.dtype}`.{endian}"
        if seen["shape"] != array.shape:
            return f"`{name}` has the shape {seen['shape']}; the table says {array.shape}."
        if (seen["sum"], seen["some"]) != (float(array.sum(dtype="f8")), some(array)):
            return (
                f"`{name}` has other numbers than the file. An offset counts bytes, from the file's first byte on, and "
                "row follows row."
            )
    for name, seen in told["arrays"].items():
        if seen["lent"] is False:
            return f"`{name}` has the right numbers, but it is a copy: its bytes lie in no mapping of the file."
        if not seen["sealed"]:
            return f"`{name}` can be written to. What is borrowed from a file is read-only: map it so."
    return None


def not_refused(raised: str | None) -> str | None:
    """None for a ValueError; else what to say."""
    if raised is None:
        return (
            "it was read as if nothing were wrong. Somebody would work with numbers that are not there. Refuse it with "
            "a ValueError."
        )
    if not raised.startswith("ValueError"):
        return (
            f"it raised {raised}. Who calls your reader waits for a ValueError: look at the number yourself before you "
            "hand it on."
        )
    return None


READ = '''def read(path):
    """name -> array, each a read-only view of the mapped file. ValueError for a damaged file."""
    import mmap
    import struct

    import numpy as np

    kinds = {1: np.dtype("<f4"), 2: np.dtype("<i8"), 3: np.dtype("u1")}
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = len(mapping)
    if mapping[:4] != b"ZCM1":
        raise ValueError(f"the file begins with {mapping[:4]}, not with b'ZCM1'")
    count = int.from_bytes(mapping[4:8], "little")
    if end < 8 or 8 + 36 * count > end:
        raise ValueError(f"a table of {count:,} arrays does not fit into {end:,} bytes")
    arrays = {}
    for name, kind, rows, columns, offset in struct.iter_unpack("<16s3IQ", mapping[8 : 8 + 36 * count]):
        name = name.rstrip(b"\\0").decode()
        if kind not in kinds:
            raise ValueError(f"{name!r} is of kind {kind}; there are {list(kinds)}")
        if offset % 8 or offset < 8 + 36 * count:
            raise ValueError(f"{name!r} begins at byte {offset}, in the table or beside a multiple of 8")
        if offset + rows * columns * kinds[kind].itemsize > end:
            raise ValueError(f"{name!r} ends beyond the file's {end:,} bytes")
        array = np.frombuffer(mapping, kinds[kind], rows * columns, offset)
        arrays[name] = array.reshape(rows, columns)
    return arrays
'''


def read_by(*changes: tuple[str, str]) -> str:
    """The solution of 08.reader, with these pieces changed. ValueError for a piece that it has not."""
    source = READ
    for old, new in changes:
        if old not in source:
            raise ValueError(f"the solution has no {old!r}")
        source = source.replace(old, new)
    return source


MAPS = "mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)"
MAKES = "np.frombuffer(mapping, kinds[kind], rows * columns, offset)"
LONG = """        if offset % 8 or offset < 8 + 36 * count:
            raise ValueError(f"{name!r} begins at byte {offset}, in the table or beside a multiple of 8")
        if offset + rows * columns * kinds[kind].itemsize > end:
            raise ValueError(f"{name!r} ends beyond the file's {end:,} bytes")
"""
TABLE = """    if end < 8 or 8 + 36 * count > end:
        raise ValueError(f"a table of {count:,} arrays does not fit into {end:,} bytes")
"""
MAGIC = """    if mapping[:4] != b"ZCM1":
        raise ValueError(f"the file begins with {mapping[:4]}, not with b'ZCM1'")
"""
READER = Exercise(
    key="08.reader",
    title="read a file format in place",
    minutes=20,
    prompt="""
A format for matrices, so small that thirty lines of Python read it. All numbers are little-endian.

    4 bytes     b"ZCM1"
    4 bytes     count, unsigned: how many matrices there are
    36 bytes    for each of them: its name in ASCII, 16 bytes, filled up with zeros; then unsigned, of 4 bytes each,
                kind, rows, columns; then unsigned, of 8 bytes, offset
    the data    each matrix row by row, at its offset: bytes from the beginning of the file, a multiple of 8

Kind 1 is `float32`, 2 is `int64`, 3 is `uint8`. With `struct` an entry of the table is `"<16s3IQ"`.

Write `read(path)`; `path` is a str. It returns a dict, name to array, each of the shape (rows, columns).

- Every array borrows from a mapping of the file, and is read-only. At most 1 MiB of anonymous memory, for 64 MiB of \
data.
- A damaged file is refused with a ValueError: one that does not begin with `ZCM1`, one that ends before its table or \
one of its matrices does, one with another kind, one with an offset inside the table or beside a multiple of 8. The \
numbers in it may be anything, so no number is used before you have looked at it.
""",
    starter='''def read(path):
    """A dict of arrays, each a read-only view of the mapped file; or ValueError."""
    ...
''',
    judge=check_read,
    hints=(
        "Three steps: map the file (lesson 07: who keeps the mapping?), walk through the table with "
        "`struct.iter_unpack`, make each array with `np.frombuffer(mapping, dtype, count, offset)`. Before each step "
        "ask which number of the file it uses, and what that may be at most.",
        "The table ends at byte `8 + 36 * count`, a matrix at `offset + rows * columns * itemsize`: both must not be "
        "more than `len(mapping)`. Do it with Python's numbers, which do not overflow. `name.rstrip(b'\\0').decode()` "
        "is the name.",
    ),
    solution_source=READ,
    wrong=(
        (read_by((MAKES, MAKES + ".copy()")), "it is a copy: its bytes lie in no mapping"),
        (read_by((MAPS, "mapping = file.read()")), "it is a copy: its bytes lie in no mapping"),
        (
            read_by((MAKES, "np.fromfile(path, kinds[kind], rows * columns, offset=offset)")),
            "it is a copy: its bytes lie in no mapping",
        ),
        (
            read_by((MAPS, MAPS + "\n        whole = mapping[:]")),
            "the arrays are right and borrowed from the file, but it took",
        ),
        (read_by((MAPS, MAPS.replace("READ", "COPY"))), "can be written to"),
        (
            read_by(("    return arrays", "    mapping.close()\n    return arrays")),
            "Leave it to the last array to let go",
        ),
        (
            read_by(
                (MAKES, "np.ndarray(rows * columns, kinds[kind], mapping, offset)"),
                ("    return arrays", "    mapping.close()\n    return arrays"),
            ),
            "Who has closed the mapping",
        ),
        (read_by(('"<f4"', '">f4"')), "Every number in the file is little-endian"),
        (
            read_by((MAKES, MAKES.replace("offset", "offset // kinds[kind].itemsize"))),
            "An offset counts bytes, from the file's first byte on",
        ),
        (read_by((", offset)\n", ", offset - 8 - 36 * count)\n")), "from the file's first byte on"),
        (read_by(("reshape(rows, columns)", "reshape(columns, rows)")), "has the shape"),
        (read_by(("reshape(rows, columns)", 'reshape(rows, columns, order="F")')), "row follows row"),
        (read_by((".reshape(rows, columns)", "")), "has the shape"),
        (read_by(('.rstrip(b"\\0")', "")), "A name has no zeros at its end"),
        (read_by(("    return arrays", "    return list(arrays.values())")), "Return a dict"),
        (
            read_by((MAGIC, MAGIC + "    if end < 1024:\n        raise ValueError('too small to be one')\n")),
            "a sound file of 168 bytes ended in ValueError: too small to be one",
        ),
        (read_by((MAGIC, "")), "for a file whose first bytes are not ZCM1: it was read"),
        (read_by((TABLE, "")), "for a file of 6 bytes: it was read"),
        (
            read_by((TABLE, "    if end < 8:\n        raise ValueError(f'{end} bytes are too few')\n")),
            "raised struct.error: iterative unpacking requires",
        ),
        (
            read_by((TABLE, "    found = [None] * count\n")),
            "Compare a number with the file's length before you use it",
        ),
        (
            read_by(
                ("        if kind not in kinds:\n", ""),
                ('            raise ValueError(f"{name!r} is of kind {kind}; there are {list(kinds)}")\n', ""),
            ),
            "it raised KeyError: 7",
        ),
        (read_by((LONG, "")), "with an offset of 2**64 - 8: it raised OverflowError"),
        (
            read_by(
                (LONG, ""),
                (
                    MAKES,
                    "np.frombuffer(memoryview(mapping)[offset:][: rows * columns * kinds[kind].itemsize], kinds[kind])",
                ),
                ("array.reshape(rows, columns)", "array.reshape(-1, columns)"),
            ),
            "that ends within its last array: it was read as if nothing were wrong",
        ),
        (
            read_by(
                (LONG, LONG.replace("offset + ", "")),
                (MAKES, "np.ndarray(rows * columns, kinds[kind], mapping, offset)"),
            ),
            "raised TypeError",
        ),
    ),
    size=64 * MiB,
)


# --- 08.liar --------------------------------------------------------------------------------------------------
NUMBERS = 256 * KiB  # float32 of the largest array
NAMES = ("ash", "beech", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "willow")


@dataclass(frozen=True)
class Loader:
    """A loader that the student's code has not seen: what it does, does it `lie`, and how that can be seen."""

    does: str
    lies: bool
    why: str


LOADERS = {
    "npy": Loader("`np.load` of an npy file, with `mmap_mode`", False, "It maps the file, as it is told."),
    "npz": Loader(
        "`np.load` of an npz file, with `mmap_mode`",
        True,
        "An npz file is a zip archive. numpy reads each array out of it, and ignores `mmap_mode` without a word.",
    ),
    "maps": Loader(
        "`np.frombuffer` over a mapping", False, "Its arrays are plain ndarrays, and yet their bytes are the mapping's."
    ),
    "private": Loader(
        "a private mapping of the file",
        False,
        "Its arrays can be written to, and as long as nobody writes every page is the page cache's.",
    ),
    "pickle": Loader(
        "pickle 5, out of band over a mapping",
        False,
        "The pickle holds names, shapes and dtypes; the numbers are where the buffers are, in the mapping.",
    ),
    "reads": Loader(
        "`np.frombuffer` over what `read` returned",
        True,
        "Its arrays are views, read-only, and own nothing: the bytes object does, and that is a copy of the file.",
    ),
    "sealed": Loader(
        "`np.fromfile`, and then `flags.writeable = False`", True, "A flag says who may write. The bytes are a copy."
    ),
    "kept type": Loader(
        "a copy of an `np.memmap`", True, "`.copy()` of an `np.memmap` is still called `memmap`, and has no mapping."
    ),
    "elsewhere": Loader(
        "a mapping of another file",
        True,
        "It copies the file first, and maps the copy: the bytes lie in a file, but not in the one that you gave it.",
    ),
    "nameless": Loader(
        "a mapping of no file, into which the file is read",
        True,
        "At the end of `base` there is an `mmap`, but an anonymous one: `mmap.mmap(-1, …)` is memory of its own.",
    ),
    "small ones": Loader(
        "a mapping, from which arrays of up to 4 KiB are copied",
        True,
        "Only the large array is borrowed. Look at every one.",
    ),
    "house": Loader("`helpers.ideas.safetensors.TensorFile`", False, "Every tensor of this file is a view of its map."),
    "library": Loader(
        "`safetensors.numpy.load_file`", True, "It maps the file, and for numpy it copies each tensor out of it."
    ),
}


def check_liars(attempt: Attempt) -> Verdict:
    """Tells those who copy from those who borrow, a dozen loaders under names that mean nothing."""
    kinds = [kind for kind in LOADERS if kind != "library" or find_spec("safetensors")]
    names = secrets.SystemRandom().sample(NAMES, len(kinds))
    secrets.SystemRandom().shuffle(kinds)
    paths, layout, head = files(attempt.folder, NUMBERS)
    cases = [(kind, name, str(paths[kind])) for kind, name in zip(kinds, names, strict=True)]
    run = attempt.measure(carried.accused, cases, layout, head, memory_limit=256 * MiB)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    as_named = dict(zip(kinds, names, strict=True))
    why = misjudged(run.value, as_named)
    liars = sum(LOADERS[kind].lies for kind in kinds)
    if why:
        if maps.why_not():
            why += (
                " On this machine `where` measures nothing: write other bytes into the file, and see which arrays "
                "show them."
            )
        return Verdict("not yet", why, recording=run)
    done = f"Of {len(kinds)} loaders you found the {liars} that copy, and accused nobody else."
    return Verdict("right", done, (f"{liars} copy", f"{len(kinds) - liars} borrow"), run)


def files(folder: Path, numbers: int) -> tuple[dict[str, Path], dict[str, tuple[int, int]], bytes]:
    """For each kind of loader its file; where in a file of bytes the arrays lie; a pickle of them, out of band."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    arrays = {name: rng.random(n, "f4") for name, n in (("weight", numbers), ("bias", 1024), ("scale", 4))}
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(arrays, protocol=5, buffer_callback=buffers.append)
    folder = folder.resolve()
    layout, at = {}, 0
    with (folder / "weights.bin").open("wb") as file:
        for name, array in arrays.items():
            layout[name] = (at, array.size)
            at += file.write(array)
    np.save(folder / "weights.npy", arrays["weight"])
    np.savez(folder / "weights.npz", **arrays)
    save(arrays, folder / "weights.safetensors")
    ends = {"npy": "npy", "npz": "npz", "house": "safetensors", "library": "safetensors"}
    return {kind: folder / f"weights.{ends.get(kind, 'bin')}" for kind in LOADERS}, layout, head


def misjudged(said: object, as_named: Mapping[str, str]) -> str | None:
    """None if they are exactly those who lie; else the first loader that was misjudged, and why."""
    if not isinstance(said, list):
        kind, shown = said if isinstance(said, tuple) else (type(said).__name__, repr(said))
        what = f"returned {called(kind)}" if kind == "NoneType" else f"returned {shown}"
        return f"it {what}. Return a list of names, of those who copy."
    unknown = sorted(set(said) - set(as_named.values()))
    if unknown:
        return f"it returned {unknown[0]!r}, which is no loader's name."
    for kind, loader in LOADERS.items():
        name = as_named.get(kind)
        if name and (name in said) != loader.lies:
            told = "you accused `{}`, which borrows" if name in said else "you did not accuse `{}`, which copies"
            return f"{told.format(name)}. It was {loader.does}. {loader.why}"
    return None


# 64 MiB of weights in the page cache, a fresh process each; Linux 6.18, Python 3.11, numpy 2.4, safetensors 0.8. In ms
# until it returned, and until every number was read once; in MiB the anonymous and the file-backed memory at the peak.
REPORT = {
    "npy": ('np.load("weights.npy", mmap_mode="r")', 0.3, 3, 0, 64),
    "npz": ('np.load("weights.npz", mmap_mode="r")', 30, 3, 66, 1),
    "pickle": ("pickle.loads(head, buffers=[mapping])", 0.1, 3, 0, 64),
    "library": ("safetensors.numpy.load_file(…)", 30, 4, 64, 64),
}


def as_table(report: Mapping[str, tuple[str, float, float, float, float]]) -> str:
    """The report as the prompt shows it."""
    rows = [("", "load", "first use", "anonymous", "file-backed")]
    for call, load, use, anonymous, file in report.values():
        rows.append((call, f"{load:g} ms", f"{use:g} ms", f"{anonymous} MiB", f"{file} MiB"))
    return "\n".join("    " + row[0].ljust(38) + "".join(word.rjust(12) for word in row[1:]) for row in rows)


COPIED = "where(array).path != Path(path)"


def liars_by(rule: str, among: str = "load(path).values()") -> str:
    """An answer to 08.liar: accuse a loader if any of its arrays is a copy by that rule."""
    return f"""def liars(loaders):
    import mmap
    from pathlib import Path
    import numpy as np
    from helpers.measure import where
    def owner(array):
        while getattr(array, "base", None) is not None:
            array = array.base
        return array.obj if type(array) is memoryview else array
    found = []
    for name, (load, path) in loaders.items():
        if any({rule} for array in {among}):
            found.append(name)
    return found
"""


LIAR = Exercise(
    key="08.liar",
    title="find the loaders that lie",
    minutes=12,
    prompt=f"""
Some workers load the weights with `np.load("weights.npz", mmap_mode="r")`, so that they share one copy. There is no \
error and no warning, and yet each worker has all of them to itself (as in numpy/numpy#5976, open since 2015). Four \
loaders that are called zero-copy, 64 MiB of weights, a fresh process each:

{as_table(REPORT)}

Two of the four copy; which, you can see. But in a server that has been running for days such figures tell nothing. So \
write `liars(loaders)`, which finds out in its own process, loader by loader.

- `loaders` is a dict: name to `(load, path)`. `load(path)` returns a dict of arrays, all from the file `path`, a `str`.
- A loader that lies has copied the bytes of at least one array; a loader that does not lie shows the bytes of the \
mapped file itself, in all of them.
- `liars` returns a list with the names of those who lie.

The check hands it a dozen loaders under names that mean nothing. Nobody writes into the arrays.
""",
    starter='''def liars(loaders):
    """The names of the loaders that copy, of a dict: name -> (load, path)."""
    ...
''',
    judge=check_liars,
    hints=(
        "A flag, a type, a name and a promise are words about the bytes. Where are the bytes themselves? "
        "`helpers.measure.where(array)` reads it from the kernel's list of mappings.",
        "`where(array).path` is the file in whose mapping the array's first byte lies, or None. For which of the "
        "arrays must it be `Path(path)`: for one of them, or for all?",
    ),
    solution_source='''def liars(loaders):
    """The names of the loaders that copy. loaders: name -> (load, path); load(path) returns a dict of arrays."""
    from pathlib import Path

    from helpers.measure import where

    found = []
    for name, (load, path) in loaders.items():
        if any(where(array).path != Path(path) for array in load(path).values()):
            found.append(name)
    return found
''',
    wrong=(
        (liars_by("array.flags.writeable"), "Its arrays can be written to"),
        (liars_by("where(array).writable"), "as long as nobody writes every page is the page cache's"),
        (liars_by("not isinstance(array, np.memmap)"), "Its arrays are plain ndarrays"),
        (liars_by("array.base is None"), "numpy reads each array out of it"),
        (liars_by("array.flags.writeable and not isinstance(array, np.memmap)"), "the bytes object does"),
        (liars_by("type(owner(array)) is not mmap.mmap"), "but not in the one that you gave it"),
        (liars_by('where(array).memory != "file"'), "but not in the one that you gave it"),
        (liars_by(COPIED, "[max(load(path).values(), key=len)]"), "Look at every one"),
        (liars_by("where(array).path != path"), "you accused"),
        (liars_by("where(array).path == Path(path)"), "you accused"),
        (liars_by("False"), "you did not accuse"),
        ("def liars(loaders):\n    return next(iter(loaders))\n", "Return a list of names"),
        ("def liars(loaders):\n    [load(path) for load, path in loaders.values()]\n", "it returned nothing"),
        ("def liars(loaders):\n    return [load for load, path in loaders.values()]\n", "Return a list of names"),
    ),
)


# --- 08.keeps -------------------------------------------------------------------------------------------------
SIDE = 1024  # a layer: SIDE x SIDE weights and SIDE biases, float32


def check_take(attempt: Attempt) -> Verdict:
    """The tensor, owned; nothing of the file mapped or open afterwards, and never much of it in anonymous memory."""
    layers = max(2, attempt.size // (4 * SIDE * SIDE))
    path, name, wanted = model(attempt.folder.resolve() / "model.safetensors", layers)
    run = attempt.measure(
        carried.taken, str(path), name, (np.float64(1), TensorFile), memory_limit=4 * attempt.size + 64 * MiB
    )
    if run.ended in CRASHED:
        why = (
            f"when the array was read the process was ended ({run.ended}): it looks at addresses where nothing is "
            "mapped any more. An array that owns its bytes needs no mapping."
        )
        return Verdict("not yet", why, recording=run)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    why = not_taken(run.value, wanted, attempt.size)
    if why:
        return Verdict("not yet", why, recording=run)
    return within(run, BUDGET, "The tensor is right, owns its bytes, and nothing of the file is left")


def model(path: Path, layers: int) -> tuple[Path, str, np.ndarray]:
    """A file of layers, and the name and the numbers of one bias in it."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    weight = rng.random((SIDE, SIDE), "f4")
    biases = {f"layers.{i}.bias": rng.random(SIDE, "f4") for i in range(layers)}
    save({f"layers.{i}.weight": weight for i in range(layers)} | biases, path)
    name = f"layers.{1 + secrets.randbelow(layers - 1)}.bias"
    return path, name, biases[name]


def not_taken(told: dict, wanted: np.ndarray, size: int) -> str | None:
    """None if it is the tensor and nothing else is left; else what is wrong."""
    if told["dtype"] is None:
        return f"it returned {called(told['type'])}, and not an array."
    if (told["dtype"], told["shape"]) != (str(wanted.dtype), wanted.shape):
        return (
            f"it returned `{told['dtype']}` of shape {told['shape']}; the tensor is `{wanted.dtype}` of shape "
            f"{wanted.shape}."
        )
    if told["bytes"] != wanted.tobytes():
        return "it returned other numbers than those of the tensor with that name."
    if told["lent"]:
        return (
            f"the numbers are right, but the array is a view: for its {in_words(wanted.nbytes, 'bytes')} the whole "
            f"file of {in_words(size, 'bytes')} stays mapped, and closing the file did not change that. Which of "
            "numpy's ways really copies?"
        )
    if told["mapped"]:
        return (
            "the array owns its bytes, and the file is still mapped: something of yours keeps it. Close the file "
            "before you return."
        )
    if told["files"]:
        return "the array owns its bytes, and a file descriptor is still open: close what you have opened."
    return None


def take_by(*lines: str, before: str = "") -> str:
    """An answer to 08.keeps with these lines."""
    head = ("def take(path, name):", "import numpy as np", "from helpers.ideas.safetensors import TensorFile")
    return before + "\n    ".join((*head, *lines)) + "\n"


def in_with(expression: str) -> str:
    """An answer to 08.keeps that returns that out of the open file."""
    return take_by("with TensorFile(path) as file:", f"    return {expression}")


KEEPS = Exercise(
    key="08.keeps",
    title="take one tensor, and let go of the file",
    minutes=8,
    prompt="""
A server needs one small tensor out of each model, and keeps it in a dict. Its process goes on holding the whole files
(as in huggingface/safetensors#574). It does it as below. After 40 models it has 40 biases of 4 KiB, and
40 mappings of 64 MiB: on Windows none of the files can be deleted, on Linux a deleted one gives back no byte of the
disk.

Mend `take(path, name)`. It returns an array with the numbers of the tensor.

- Afterwards nothing of the file is mapped or open, although the array lives on.
- At most 1 MiB of anonymous memory: nobody reads 64 MiB to take 4 KiB.
""",
    starter='''def take(path, name):
    """The tensor of that name, and nothing else of the file."""
    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        return file[name]
''',
    judge=check_take,
    hints=(
        "The file was closed, and yet its mapping is there: what was taken out of it is a view, and a view keeps its "
        "owner (lesson 07). What would be an array that is its own owner?",
        "`[:]`, `np.asarray` and `reshape` make one more view. `.copy()` copies: 4 KiB are a low price for 64 MiB.",
    ),
    solution_source='''def take(path, name):
    """The tensor of that name, and nothing else of the file."""
    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        return file[name].copy()
''',
    wrong=(
        (in_with("file[name][:]"), "the whole file of"),
        (in_with("np.asarray(file[name])"), "Which of numpy's ways really copies?"),
        (in_with("np.array(file[name], copy=None)"), "Which of numpy's ways really copies?"),
        (in_with("np.ascontiguousarray(file[name])"), "Which of numpy's ways really copies?"),
        (in_with('file[name].astype("f4", copy=False)'), "Which of numpy's ways really copies?"),
        (in_with("file.cow(name).value"), "Which of numpy's ways really copies?"),
        (in_with("file.cow(name)"), "it returned Cow"),
        (in_with("file[name].tobytes()"), "it returned bytes"),
        (in_with("file[name].tolist()"), "it returned list"),
        (in_with('file[name].astype("f8")'), "it returned float64"),
        (in_with('file["layers.0.bias"].copy()'), "other numbers than those"),
        (
            in_with("{key: tensor.copy() for key, tensor in file.items()}[name]"),
            "nothing of the file is left, but it took",
        ),
        (
            take_by("kept.append(TensorFile(path))", "return kept[-1][name].copy()", before="kept = []\n"),
            "the file is still mapped: something of yours keeps it",
        ),
        (
            take_by(
                "kept.append(open(path, 'rb'))",
                "with TensorFile(path) as file:",
                "    return file[name].copy()",
                before="kept = []\n",
            ),
            "a file descriptor is still open",
        ),
    ),
    size=64 * MiB,
)

EXERCISES = (READER, LIAR, KEEPS)


# --- quizzes --------------------------------------------------------------------------------------------------
ESCAPES = '{"city": "Zürich", "code": "", "note": "two\\nlines", "path": "/tmp/a b"}'


def own_characters() -> int | None:
    """1 if a str of ASCII holds the characters within its own block of memory, where a memoryview holds an address."""
    if sys.implementation.name != "cpython":
        return None
    text = b'{"city": "' + 1000 * b"Zurich" + b'"}'
    view, value = memoryview(text)[10:-2], json.loads(text)["city"]
    block = ctypes.string_at(id(value), sys.getsizeof(value))
    return 1 if bytes(view) in block and sys.getsizeof(view) < len(view) / 10 else 0


def owned() -> int:
    """The string of ESCAPES that, in UTF-8, is not a piece of its text."""
    fields = json.loads(ESCAPES)
    found = [at for at, value in enumerate(fields.values()) if value.encode() not in ESCAPES.encode()]
    return found[0] if len(found) == 1 else 0


def touched(path: Path) -> int | None:
    """2 if no page of a fresh mapping is there, and every page once a byte of each was read."""
    if maps.why_not():
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        before = page_map(mapping).present
        for at in range(0, len(mapping), mmap.PAGESIZE):
            mapping[at]
        after = page_map(mapping)
    return 2 if before == 0 and after.present == len(after) else 0


QUIZZES = (
    Quiz(
        "08.str",
        "The text of a JSON file lies in a mapping, and in it a name in plain ASCII. Why can no parser, however fast, "
        "give you a `str` that borrows the name's bytes from there?",
        (
            Choice(
                "A `str` is kept in another encoding, so the bytes must be converted.",
                False,
                "Not these: CPython keeps ASCII as one byte a character, the same bytes as in the text. They are "
                "copied all the same.",
            ),
            Choice(
                "A `str` has its characters in its own block of memory. It has no field for an address of others.",
                True,
                "Yes. Head and characters are one block, so to make a `str` is to copy the characters into it. A "
                "memoryview is the other way round: a head, and the address of somebody else's bytes.",
            ),
            Choice(
                "A `str` can never change, and a file can.",
                False,
                "A view would have that trouble, and the lessons map files in spite of it. But the reason comes "
                "earlier: where in a `str` would the address of the borrowed bytes stand?",
            ),
            Choice(
                "The mapping may be closed while the `str` is still in use.",
                False,
                "That is what counting is for: a memoryview keeps its owner, and the mapping refuses to close. A "
                "`str` could do the same, if it had a place for the owner and the address.",
            ),
        ),
        own_characters,
    ),
    Quiz(
        "08.escape",
        f"A parser lends each string as a memoryview of the text, which is UTF-8. The text is `{ESCAPES}`. Which "
        "string must be owned, and why?",
        (
            Choice(
                "`city`: the ü takes two bytes.",
                False,
                "Two bytes in the text, and the same two in the view. They become one character when somebody makes "
                "a `str` of it; as UTF-8 they can be lent.",
            ),
            Choice(
                "`code`: there is nothing to lend.",
                False,
                "A view of no bytes is a view. There is nothing to copy either.",
            ),
            Choice(
                "`note`: in the text stand a backslash and an n, in the string a new line.",
                True,
                "Yes. Those bytes stand nowhere in the text, so somebody has to write them somewhere: an owned copy, "
                "without the escape. A Cow: borrowed as a rule, owned where it must be.",
            ),
            Choice(
                "`path`: it may not keep the text alive for ever.",
                False,
                "It does keep the whole text alive, which may be a reason to copy it *later*. While parsing nothing "
                "forces you to: its bytes are the text's.",
            ),
        ),
        owned,
    ),
    Quiz(
        "08.touch",
        "To read a file of weights of 1 GiB takes a good part of a second, to map it a millisecond. Then all weights "
        "are used once. Where is the time that the mapping has saved?",
        (
            Choice(
                "Nowhere: the file is read while it is being mapped, only faster.",
                False,
                "After the mapping is made not one of its pages is in memory for this process. A millisecond is not "
                "enough to move 1 GiB.",
            ),
            Choice(
                "The kernel reads the file in the background, while Python goes on.",
                False,
                "To make a mapping starts no reading. Readahead begins with the first page fault, and runs a little "
                "ahead of it.",
            ),
            Choice(
                "Put off: each page costs its page fault, and its read from the disk, when it is first touched.",
                True,
                "Yes. What is really saved is the copy, and the time for pages that nobody touches. The disk is as "
                "slow as before, and now you wait for it at the first use: measure both moments.",
            ),
            Choice(
                "Saved for good: mapped bytes need not come into memory.",
                False,
                "A processor computes with nothing that is not in memory. Mapped pages come one after another into "
                "the page cache, as they are touched; only the second copy is saved for good.",
            ),
        ),
        on_a_file(touched),
    ),
)
