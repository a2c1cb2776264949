"""Lesson 09, load a model in a millisecond: its exercises and quizzes."""

import os
import secrets
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...ideas.safetensors import save
from ...make import random_file, whole_file
from ...measure import maps, measure
from ...measure.workers import workers
from ...units import KiB, MiB, in_words
from ..carried import lesson_09 as carried
from ..exercises import Attempt, Exercise, Verdict, own_memory, within
from ..quizzes import Choice, Quiz
from .shared import called, is_a_number, on_a_file, right_for_each

Moment = dict[str, dict | list[dict]]  # "free" and "processes": figures in bytes, see carried.serves


# --- 09.serve -------------------------------------------------------------------------------------------------
LAYERS, ROUNDS = 8, 3
STORED = ("float32", "float16", "float16")
TOLERANCE = 1e-4  # of the largest number of an answer: float32 has a hundred times less, float16 ten times more


def check_serve(attempt: Attempt) -> Verdict:
    """All answers right in float32, within 1.5 models of anonymous memory, and the files not read anew each time."""
    paths, requests, wanted = models(attempt)
    model = attempt.size
    files = sum(path.stat().st_size for path in paths)
    run = attempt.measure(carried.served, [str(path) for path in paths], requests, memory_limit=6 * model + 64 * MiB)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    why = not_the_answers(run.value, wanted)
    if why:
        return Verdict("not yet", why, recording=run)
    verdict = within(run, model * 3 // 2, f"All {len(wanted)} answers are right")
    own, read = own_memory(run), run.io.read_bytes
    if verdict.outcome == "not yet":
        return replace(verdict, because=verdict.because + whose(own, model))
    if read is not None and read > 1.5 * files:
        why = (
            f"the answers are right, and the memory is within its budget, but {in_words(read, 'bytes')} were read by "
            f"calls, of files that have {in_words(files, 'bytes')}: weights are copied out of the page cache again and "
            "again. What is mapped can be used where it lies, by every request."
        )
        return Verdict("not yet", why, verdict.figures, run)
    return verdict


def models(attempt: Attempt) -> tuple[list[Path], list[tuple[int, np.ndarray]], list[np.ndarray]]:
    """Three model files in random order, requests that go to and fro between them, and the answers.

    Weights are normal with a variance of 2/n: through layers with a relu, numbers then keep their size.
    """
    rng = np.random.default_rng(secrets.randbelow(2**32))
    n = int((attempt.size / 4 / LAYERS) ** 0.5)
    asked = np.concatenate([rng.permutation(len(STORED)) for _ in range(ROUNDS)]).tolist()
    requests = [(number, rng.random(n, dtype=np.float32)) for number in asked]
    answers: dict[int, np.ndarray] = {}
    paths = []
    for number, stored in enumerate(rng.permutation(STORED)):
        tensors = {}
        for i in range(LAYERS):
            tensors[f"layers.{i}.weight"] = rng.standard_normal((n, n), np.float32) * np.float32((2 / n) ** 0.5)
            tensors[f"layers.{i}.bias"] = rng.standard_normal(n, np.float32) / 8
        tensors = {name: tensor.astype(stored) for name, tensor in tensors.items()}
        paths.append(attempt.folder / f"model-{number}.safetensors")
        save(tensors, paths[-1])
        for at, (which, x) in enumerate(requests):
            if which == number:
                for i in range(LAYERS):
                    x = np.maximum(tensors[f"layers.{i}.weight"] @ x + tensors[f"layers.{i}.bias"], 0)
                answers[at] = x
    return paths, requests, [answers[at] for at in range(len(requests))]


def not_the_answers(told: dict, wanted: list[np.ndarray]) -> str | None:
    """None if they are right; else what is wrong with the first that is not."""
    if told["answers"] is None:
        return f"it returned {called(told['type'])}. The caller wants a list, with an answer for each request."
    if len(told["answers"]) != len(wanted):
        given = "more" if len(told["answers"]) > len(wanted) else f"{len(told['answers'])}"
        return f"there were {len(wanted)} requests, and you gave {given} answers."
    for number, (one, right) in enumerate(zip(told["answers"], wanted, strict=True), 1):
        if one["shape"] != right.shape or one["numbers"] is None:
            what = called(one["type"]) if one["shape"] is None else f"an array of {one['dtype']}, shape {one['shape']}"
            return f"answer {number} is {what}; it should be a vector of {right.size:,} numbers."
        off = float(np.abs(np.array(one["numbers"]) - right).max() / right.max())
        if off <= TOLERANCE and one["dtype"] != "float16":
            continue
        if off < 0.1:
            return (
                f"answer {number} is off by {off:.1e} of its largest number. Three digits are right, as many as a "
                "float16 has: somewhere float16 is multiplied by float16. The weights may be stored so; the vector, "
                "and what comes of it, must stay float32."
            )
        return (
            f"answer {number} is not the model's. Which model does the request name, and do all {LAYERS} layers take "
            "part, in their order, each with `max(weight @ x + bias, 0)`?"
        )
    return None


def whose(own: int | None, model: int) -> str:
    """What takes that much, as far as the amount tells."""
    if own is None:
        return ""
    if own > 2.5 * model:
        return (
            " That is all three models: each tensor was copied. A TensorFile lends them, and `weight @ x` reads them "
            "where they lie."
        )
    return (
        " That is what the two float16 models take when they are float32, and also what the three files hold. Either "
        "converted layers are kept, and to convert is to copy; or what a TensorFile lends is copied as it is. Who "
        "needs a layer when the next one has its turn?"
    )


def serve_by(
    models: str, step: str = "x = np.maximum(get(f'layers.{i}.weight') @ x + get(f'layers.{i}.bias'), 0)"
) -> str:
    """An answer to 09.serve: `models` makes a list, and each request goes through `get`, made of one of its members."""
    return f"""def serve(paths, requests):
    import numpy as np
    from helpers.ideas.safetensors import TensorFile

    {models}
    answers = []
    for number, x in requests:
        get = models[number].__getitem__
        for i in range({LAYERS}):
            {step}
        answers.append(x)
    return answers
"""


SERVE = Exercise(
    key="09.serve",
    title="three models within the memory of one and a half",
    minutes=15,
    prompt=f"""
A server has three models and answers requests for all of them, in any order. It works, and it takes the memory of
three models. There is room for one and a half.

Mend `serve(paths, requests)`. Each path is a safetensors file with `layers.0.weight` (n × n), `layers.0.bias` (n), up
to `layers.{LAYERS - 1}`. Each request is a number, which says which path, and a vector of n float32. The answer is the
vector that has gone through all layers: `x = max(weight @ x + bias, 0)`.

- It returns a list with an answer for each request, calculated in float32.
- Anonymous memory stays below 1.5 times a model in float32. Of the three files one is stored in float32 and two in \
float16, in half the space; which ones, you do not know.
- The files are not read by calls again for every request.

The check makes three models and asks each of them {ROUNDS} times, to and fro.
""",
    starter=f'''def serve(paths, requests):
    """The answer to each request, a pair of the model's number and a vector."""
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = []
    for path in paths:
        file = TensorFile(path)
        models.append({{name: np.array(file[name], np.float32) for name in file}})
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range({LAYERS}):
            weight, bias = model[f"layers.{{i}}.weight"], model[f"layers.{{i}}.bias"]
            x = np.maximum(weight @ x + bias, 0)
        answers.append(x)
    return answers
''',
    judge=check_serve,
    hints=(
        "`np.array` copies every tensor, `np.asarray(…, np.float32)` those that are float16. The first is one model "
        "too much; the second still makes two whole models in float32. How many layers are needed at the same moment?",
        "Keep the three TensorFiles, and take a tensor out of its file when its turn has come. `weight @ x` with a "
        "float16 `weight` and a float32 `x` is calculated in float32: numpy widens that one layer, and lets it go.",
    ),
    solution_source=f'''def serve(paths, requests):
    """The answer to each request, a pair of the model's number and a vector."""
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range({LAYERS}):
            weight, bias = model[f"layers.{{i}}.weight"], model[f"layers.{{i}}.bias"]
            x = np.maximum(weight @ x + bias, 0)
        answers.append(x)
    return answers
''',
    wrong=(
        (
            serve_by("models = [{name: tensor.copy() for name, tensor in TensorFile(path).items()} for path in paths]"),
            "or what a TensorFile lends is copied as it is",
        ),
        (
            serve_by("models = [{name: np.array(t, 'f4') for name, t in TensorFile(path).items()} for path in paths]"),
            "That is all three models",
        ),
        (
            serve_by(
                "models = [{name: np.asarray(t, 'f4') for name, t in TensorFile(path).items()} for path in paths]"
            ),
            "Either converted layers are kept",
        ),
        (
            """def serve(paths, requests):
    import numpy as np
    from functools import cache
    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]

    @cache
    def get(number, name):
        return models[number][name].astype(np.float32, copy=False)

    answers = []
    for number, x in requests:
        for i in range(8):
            x = np.maximum(get(number, f"layers.{i}.weight") @ x + get(number, f"layers.{i}.bias"), 0)
        answers.append(x)
    return answers
""",
            "Who needs a layer when the next one has its turn?",
        ),
        (
            """def serve(paths, requests):
    import json
    import numpy as np

    def load(path):
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
            for i in range(8):
                layer = []
                for name in ("weight", "bias"):
                    one = header[f"layers.{i}.{name}"]
                    file.seek(8 + size + one["data_offsets"][0])
                    dtype = {"F16": "f2", "F32": "f4"}[one["dtype"]]
                    layer.append(np.fromfile(file, dtype, int(np.prod(one["shape"]))).reshape(one["shape"]))
                yield layer

    answers = []
    for number, x in requests:
        for weight, bias in load(paths[number]):
            x = np.maximum(weight @ x + bias, 0)
        answers.append(x)
    return answers
""",
            "copied out of the page cache again and again",
        ),
        (
            serve_by(
                "models = [TensorFile(path) for path in paths]",
                "w = get(f'layers.{i}.weight'); "
                "x = np.maximum((w @ x.astype(w.dtype)).astype('f4') + get(f'layers.{i}.bias'), 0)",
            ),
            "the vector, and what comes of it, must stay float32",
        ),
        (
            serve_by(
                "models = [TensorFile(path) for path in paths]",
                "x = get(f'layers.{i}.weight') @ x + get(f'layers.{i}.bias')",
            ),
            "is not the model's",
        ),
        (
            serve_by("models = [TensorFile(path) for path in paths]").replace("(x)\n    return answers", "(x)\n"),
            "it returned nothing",
        ),
        (
            serve_by("models = [TensorFile(path) for path in paths]").replace("return answers", "return answers[-3:]"),
            "there were 9 requests, and you gave 3 answers",
        ),
    ),
    size=32 * MiB,
)


# --- 09.snapshot ----------------------------------------------------------------------------------------------
HEADER = struct.Struct("<8sIIQQI")
MAGIC, VERSION, ORDER, FIRST = b"SNAPSHOT", 1, 0x01020304, 40  # FIRST: where numbers may begin
REFUSED = {
    "is empty": "There is nothing in it. `mmap` says so by itself; did you catch that?",
    "ends within its header": f"A header has {FIRST} bytes. How many has the file?",
    "has another magic": "Some other program wrote it, and its bytes only look like an offset and a count.",
    "has another version": "What a later version means by these fields, nobody knows yet.",
    "comes from a machine with the other byte order": "Its numbers have their bytes the other way round.",
    "has a header that was damaged": (
        "Offset and count fit together, and both are wrong: only the checksum in bytes 32 to 36 tells. It is the "
        "CRC-32 of the 32 bytes before it."
    ),
    "says that its numbers begin inside the header": f"Numbers begin at byte {FIRST} or later.",
    "says that its numbers begin at an odd place": (
        "A float64 wants an offset that is a multiple of 8. Numpy would read it, slowly; other code that is handed the "
        "address need not."
    ),
    "says that it has 2^61 numbers more": "No file has that many. Compare with the length before you calculate on.",
    "was cut short": "Numbers are missing. Where do they end, by the header, and where does the file?",
    "is a byte longer": "The numbers are all there, and so is a byte that nobody wrote on purpose. Is it this file?",
    "has another number at its end": "By the header it ends earlier. A writer that was stopped leaves such files.",
}


def check_snapshot(attempt: Attempt) -> Verdict:
    """Three good files are lent, the large one without its numbers being read; twelve others are refused."""
    firsts = (4096, FIRST, FIRST + 8 * (1 + secrets.randbelow(99)))
    names = secrets.SystemRandom().sample(range(100), len(firsts) + len(REFUSED))  # which tell nothing
    paths = [attempt.folder / f"{name}.bin" for name in names]
    good = dict(zip(paths[: len(firsts)], good_numbers(attempt.size), strict=True))
    for first, (path, numbers) in zip(firsts, good.items(), strict=True):
        with whole_file(path, first + numbers.nbytes) as file:
            file.write(snapshot(numbers, first))
    bad = dict(zip(paths[len(firsts) :], REFUSED, strict=True))
    for path, content in zip(bad, bad_snapshots(), strict=True):
        path.write_bytes(content)
    run = attempt.measure(
        carried.loaded, [str(path) for path in (*good, *bad)], np.float64(1), memory_limit=2 * attempt.size + 64 * MiB
    )
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    for told, first, numbers in zip(run.value, firsts, good.values(), strict=False):
        why = not_lent(told, first, numbers)
        if why:
            return Verdict("not yet", why, recording=run)
    for told, kind in zip(run.value[len(good) :], REFUSED, strict=True):
        if told["ended"] == "raised":
            why = (
                f"a file that {kind} ended in `{told['error']}`. A caller that makes the snapshot anew waits for "
                "ValueError, and for nothing else."
            )
        elif told["ended"] == "returned":
            gave = called(told["type"]) if told["dtype"] is None else "an array"
            why = f"for a file that {kind} it returned {gave}. {REFUSED[kind]}"
        else:
            continue
        return Verdict("not yet", why, recording=run)
    largest = next(iter(good.values())).nbytes
    if run.peak.file is not None and run.peak.file > largest / 2:
        why = (
            f"all is lent and refused as it should be, but of a file of {in_words(largest, 'bytes')} "
            f"{in_words(run.peak.file, 'bytes')} became resident: to open it you read its numbers. That takes longer "
            "the larger it is. The header has to do; what is wrong with the numbers, another function may tell, when "
            "it is asked."
        )
        return Verdict("not yet", why, recording=run)
    return within(run, 4 * MiB, f"You lend {len(good)} good files and refuse {len(bad)} others")


def good_numbers(size: int) -> list[np.ndarray]:
    """One array of `size` bytes, and two small ones."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    return [rng.random(count) for count in (size // 8, int(rng.integers(8, 99)), int(rng.integers(8, 99)))]


def snapshot(
    numbers: np.ndarray,
    first: int = FIRST,
    magic: bytes = MAGIC,
    version: int = VERSION,
    more: int = 0,
    order: int = ORDER,
) -> bytes:
    """The bytes of a snapshot whose numbers begin at byte `first`, by its header at least; it says `more` of them."""
    fields = HEADER.pack(magic, version, order, first, numbers.size + more, 0)[:-4]
    header = fields + zlib.crc32(fields).to_bytes(4, "little") + bytes(4)
    return header + bytes(max(0, first - len(header))) + numbers.tobytes()[max(0, len(header) - first) :]


def bad_snapshots() -> list[bytes]:
    """One of each kind in REFUSED, in that order."""
    pick = secrets.randbelow
    numbers = np.random.default_rng(pick(2**32)).random(16 + pick(64))
    good = snapshot(numbers)
    at = pick(len(MAGIC))
    foreign = MAGIC[:at] + bytes([MAGIC[at] ^ 1 + pick(255)]) + MAGIC[at + 1 :]
    moved = snapshot(numbers[1:], FIRST + 8)[: HEADER.size - 4] + good[HEADER.size - 4 :]
    return [
        b"",
        good[: 1 + pick(HEADER.size - 1)],
        snapshot(numbers, magic=foreign),
        snapshot(numbers, version=2 + pick(9)),
        snapshot(numbers.byteswap(), order=int.from_bytes(ORDER.to_bytes(4, "little"), "big")),
        moved,
        snapshot(numbers, 8 * (1 + pick(4))),
        snapshot(numbers, FIRST + 1 + pick(7)),
        snapshot(numbers, more=2**61),
        good[: -1 - pick(64)],
        good + bytes([pick(256)]),
        snapshot(np.append(numbers, 1.0), more=-1),
    ]


def not_lent(told: dict, first: int, numbers: np.ndarray) -> str | None:
    """None if the numbers of a good file, which begin at byte `first`, were lent; else what is wrong."""
    if told["ended"] != "returned":
        return f"a file in which nothing is wrong, with numbers from byte {first} on, ended in `{told['error']}`."
    if told["dtype"] is None:
        return f"for a good file it returned {called(told['type'])}. The caller wants an array."
    if told["dtype"] != "float64" or told["shape"] != numbers.shape:
        return (
            f"your array is {told['dtype']}, of shape {told['shape']}; the file has {numbers.size:,} numbers, float64."
        )
    if told["ends"] != [float(numbers[at]) for at in (0, 1, -2, -1)]:
        return "your array has not the file's numbers. The header says at which byte they begin."
    if not told["lent"]:
        return "the numbers are right, but they are a copy: behind your array there is no mapping."
    if told["writable"]:
        return "who has your array can write into it. Map the file so that it can only be read."
    return None


LOAD = '''def load(path):
    """The numbers of a snapshot, lent; ValueError for a file that is none."""
    import mmap
    import struct
    import zlib

    import numpy as np

    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(data) < 40:
        raise ValueError(f"{path}: {len(data)} bytes are no header, which has 40")
    magic, version, order, first, count, crc = struct.unpack_from("<8sIIQQI", data)
    if (magic, version, order) != (b"SNAPSHOT", 1, 0x01020304):
        raise ValueError(f"{path}: {magic!r}, version {version}, byte order {order:#x}")
    if zlib.crc32(data[:32]) != crc:
        raise ValueError(f"{path}: its header is damaged")
    if first < 40 or first % 8 or first + 8 * count != len(data):
        raise ValueError(f"{path}: {count} numbers at byte {first}, in {len(data)} bytes")
    return np.frombuffer(data, np.float64, count, first)
'''

SNAPSHOT = Exercise(
    key="09.snapshot",
    title="refuse a damaged snapshot",
    minutes=15,
    prompt="""
A server builds an index once, leaves it as a snapshot, and maps that at every start. One night a few bytes of its
header were damaged. Since then the server finds things that are not there, and nobody gets an error.

Mend `load(path)`. A snapshot is a header and float64 numbers, little-endian but for the mark and the numbers, which \
are in the order of the machine that wrote them:

    bytes  0 to  8   b"SNAPSHOT"
    bytes  8 to 12   version: 1
    bytes 12 to 16   byte order mark: 0x01020304, if it was written by a machine like this one
    bytes 16 to 24   where the numbers begin: at byte 40 or later, a multiple of 8
    bytes 24 to 32   how many there are; the file ends with the last one
    bytes 32 to 36   CRC-32 of the 32 bytes before (`zlib.crc32`)
    bytes 36 to 40   nothing

- A good file is lent: the array is read-only and lies in a mapping. To open it takes equally long for any size, so \
its numbers are not read, and not checked.
- Whatever breaks one of the rules above ends in a ValueError, which says what is wrong.

The check has three good files and twelve others, damaged at places of its own choice.
""",
    starter='''def load(path):
    """The numbers of a snapshot, lent; ValueError for a file that is none."""
    import mmap
    import struct

    import numpy as np

    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    magic, version, order, first, count, crc = struct.unpack_from("<8sIIQQI", data)
    return np.frombuffer(data, np.float64, count, first)
''',
    judge=check_snapshot,
    hints=(
        "Take the rules from the top, and write an `if` with a `raise ValueError(…)` for each. Before the first field "
        "is read: is the file long enough to have one? `len(data)` tells.",
        "`zlib.crc32(data[:32]) != crc` finds a header whose fields fit together and are wrong. And the length has to "
        "be met exactly: `first + 8 * count != len(data)`.",
    ),
    solution_source=LOAD,
    wrong=tuple(
        (LOAD.replace(old, new), message)
        for old, new, message in (
            ("len(data) < 40", "not data", "A caller that makes the snapshot anew waits for ValueError"),
            ('(magic, version, order) != (b"SNAPSHOT", 1,', "(version, order) != (1,", "Some other program wrote it"),
            ('(magic, version, order) != (b"SNAPSHOT", 1,', '(magic, order) != (b"SNAPSHOT",', "a later version means"),
            (
                '(magic, version, order) != (b"SNAPSHOT", 1, 0x01020304)',
                '(magic, version) != (b"SNAPSHOT", 1)',
                "have their bytes the other way round",
            ),
            ("zlib.crc32(data[:32]) != crc", "crc == 0", "only the checksum in bytes 32 to 36 tells"),
            ("first < 40 or ", "", "Numbers begin at byte 40 or later"),
            ("first % 8 or ", "", "wants an offset that is a multiple of 8"),
            ("8 * count != len(data)", "8 * count > len(data)", "a byte that nobody wrote on purpose"),
            (
                "first + 8 * count != len(data)",
                "count != (len(data) - first) // 8",
                "a byte that nobody wrote on purpose",
            ),
            ("first < 40 or", "first != 40 or", "with numbers from byte 4096 on, ended in"),
            ("zlib.crc32(data[:32])", "zlib.crc32(data)", "a file in which nothing is wrong"),
            ("raise ValueError", "raise OSError", "waits for ValueError, and for nothing else"),
            (
                'raise ValueError(f"{path}: {len(data)} bytes are no header, which has 40")',
                "return None",
                "it returned nothing",
            ),
            ("count, first)", "count, first).copy()", "they are a copy: behind your array there is no mapping"),
            ("ACCESS_READ", "ACCESS_COPY", "who has your array can write into it"),
            (
                "    return np.frombuffer",
                "    zlib.crc32(memoryview(data)[first:])\n    return np.frombuffer",
                "to open it you read its numbers",
            ),
        )
    ),
    size=64 * MiB,
)


# --- 09.six ---------------------------------------------------------------------------------------------------
SERVERS = {
    "maps": "maps the model and uses all of it",
    "reads": "reads the model and uses all of it",
    "experts": "maps a model of eight experts and asks one of them",
    "two": "maps the model in two processes, and both use all of it",
    "loses": "maps the model, uses all of it, and then loses some, for others needed memory",
}
CAUSES = ("copied", "evicted", "part", "cached")
MUCH, ABOUT = 8 * MiB, 3 * MiB


def _moments(*moments: tuple[tuple[int, int], tuple[tuple[int, int, int, int], ...]]) -> tuple[Moment, ...]:
    """Figures in kB as carried.serves gives them, in bytes."""

    def named(names: tuple[str, ...], figures: tuple[int, ...]) -> dict[str, int]:
        return {name: figure * KiB for name, figure in zip(names, figures, strict=True)}

    return tuple(
        {
            "free": named(("used", "buff/cache"), free),
            "processes": [named(("RssAnon", "RssFile", "Pss_File", "VmHWM"), each) for each in processes],
        }
        for free, processes in moments
    )


# Recorded on Linux 6.18, Python 3.11, with a model of 64 MiB that was not in the page cache.
RECORDED = {
    "maps": _moments(
        ((545740, 1724916), ((8152, 6512, 2588, 14668),)), ((552912, 1790460), ((8164, 72048, 68124, 80212),))
    ),
    "reads": _moments(
        ((569548, 1686276), ((8152, 6496, 2633, 14652),)), ((614360, 1739628), ((73704, 6496, 2633, 80200),))
    ),
    "experts": _moments(
        ((578740, 1713412), ((8156, 6480, 2616, 14640),)), ((570536, 1729796), ((8168, 14672, 10808, 22840),))
    ),
    "two": _moments(
        ((599444, 1673744), ((8152, 6512, 2245, 14668), (8148, 2852, 754, 11000))),
        ((575120, 1739280), ((8164, 72048, 34946, 80212), (8148, 68852, 33660, 77000))),
    ),
    "loses": _moments(
        ((610080, 1674164), ((8156, 6512, 2595, 14672),)), ((609948, 1698740), ((8168, 31088, 27171, 80112),))
    ),
}


def check_six(attempt: Attempt) -> Verdict:
    """Right for five servers, started for this check; where they cannot be run or read, for recorded ones."""
    live = {} if maps.why_not() else live_servers(attempt)
    cases = live or {kind: (64 * MiB, *moments) for kind, moments in RECORDED.items()}
    figures = tuple(f"{kind}: {in_words(right(*case)[0], 'bytes')} needed" for kind, case in cases.items())
    where = "that were running a moment ago" if live else "recorded on another machine: they cannot be read here"
    done = f"You read the figures of {len(cases)} servers {where}. A mapped model needs the pages that it uses, "
    done += "in whichever column they are counted."
    return right_for_each(attempt, cases, misread, "a server that", SERVERS, done, figures)


def live_servers(attempt: Attempt) -> dict[str, tuple[int, Moment, Moment]]:
    """The model's size, and what each kind of server shows before and after; nothing if one could not be run."""
    size = 48 * MiB + 4 * KiB * secrets.randbelow(2 * KiB)
    path = random_file(attempt.folder / "model.bin", size, seed=secrets.randbelow(2**32))
    with path.open("r+b") as file:
        os.fsync(file.fileno())  # dirty pages cannot be dropped from the cache
    runs = {kind: measure(carried.serves, kind, str(path), size, name=kind) for kind in SERVERS}
    if any(run.ended != "returned" for run in runs.values()):
        return {}
    return {kind: (size, *run.value) for kind, run in runs.items()}


def growth(before: Moment, after: Moment, meter: str) -> int:
    """By how many bytes a meter of the processes grew, all of them added up."""
    return sum(now[meter] - was[meter] for was, now in zip(before["processes"], after["processes"], strict=True))


def held(before: Moment, after: Moment) -> tuple[int, int, int]:
    """Bytes of all processes together: anonymous, their share of files' pages, and what they had and have no more."""
    gone = sum(now["VmHWM"] - now["RssAnon"] - now["RssFile"] for now in after["processes"])
    return growth(before, after, "RssAnon"), growth(before, after, "Pss_File"), gone


def right(size: int, before: Moment, after: Moment) -> tuple[int, str]:
    """The bytes needed, and which of CAUSES it is."""
    own, _, gone = held(before, after)
    needed = sum(held(before, after))
    if own > needed / 2:
        return needed, "copied"
    if gone > MUCH:
        return needed, "evicted"
    return needed, "part" if needed < size / 2 else "cached"


def misread(given: object, size: int, before: Moment, after: Moment) -> str | None:
    """None for the right answer; else what the slip was, as far as the figures tell."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        words = ", ".join(map(repr, CAUSES))
        return f"it returned {given!r}. Return two things: the bytes needed, and one of {words}."
    (needed, word), (own, shared, gone) = right(size, before, after), held(before, after)
    if abs(given[0] - needed) <= ABOUT:
        if given[1] == word:
            return None
        return (
            f"the bytes are right, but not the word {given[1]!r}: of {in_words(needed, 'bytes')} it has "
            f"{in_words(own, 'bytes')} for itself, {in_words(gone, 'bytes')} are gone again, and the model has "
            f"{in_words(size, 'bytes')}."
        )
    grew = {meter: growth(before, after, meter) for meter in ("RssFile", "VmHWM")}
    free = {name: after["free"][name] - before["free"][name] for name in ("used", "buff/cache")}
    left, twice = {own + grew["RssFile"], own + shared}, {own + grew["RssFile"], grew["VmHWM"]}
    slips = (
        (
            {free["used"]},
            "That is by how much `used` grew. Pages of files are not in it, however often they are needed: free(1) "
            "counts them as buff/cache. It is how a model of 20 GB seemed to need 6.",
        ),
        (
            {own},
            "That is its anonymous memory alone. Mapped pages are needed as well: without them each answer waits for "
            "the disk.",
        ),
        (
            left if gone > MUCH else (),
            "That is what is left now. VmHWM says how much it had, and the next answer wants that again.",
        ),
        (
            twice if len(after["processes"]) > 1 else (),
            "RssFile and VmHWM count a page in full in every process. Two that map the same file need its pages once.",
        ),
        (
            {free["buff/cache"]},
            "That is by how much the page cache grew, whoever it was for. It keeps what was read once, needed or not.",
        ),
        ({size}, "That is the size of the model. Which part of it does an answer touch?"),
    )
    told = next((text for figures, text in slips if given[0] in figures), "")
    told = told or (
        "Begin with what the processes hold more than before: their own memory, and their share of the file's pages."
    )
    return f"you gave {in_words(given[0], 'bytes')} as needed. {told}"


def printed(kind: str) -> str:
    """The recorded figures of a server, MiB: a line for each meter of the machine and of its first process."""
    was, now = ({**moment["free"], **moment["processes"][0]} for moment in RECORDED[kind])
    return "\n".join(f"    {name:<12}{was[name] / MiB:>10.1f}{now[name] / MiB:>10.1f}" for name in was)


SIX = Exercise(
    key="09.six",
    title="explain “needs only 6 GB”",
    minutes=20,
    prompt=f"""
Since the weights are mapped, a model of 30 billion parameters needs only 6 GB: so say `free` and the dashboard, and the
file has 20 (as in ggml-org/llama.cpp#864). Others have as much free memory, and wait minutes for an answer. A small
server here shows the same. Its model has 64 MiB; MiB before it was mapped, and after two answers:

                    before     after
{printed("maps")}

Write `explain(size, before, after)`: the size of the model, and the figures at the two moments, in bytes. Each moment
is a dict, with the machine's figures from free(1), and those of each process of the server, from /proc/<pid>/status and
smaps_rollup:

    {{"free": {{"used": …, "buff/cache": …}},
     "processes": [{{"RssAnon": …, "RssFile": …, "Pss_File": …, "VmHWM": …}}, …]}}

VmHWM is the most that was ever resident; none of the processes has given back memory by itself. It returns two things:

- **needed**: bytes of memory that the server needs, beyond what it had before, to give the next answer like the last \
one, without waiting for the disk. Pages that two processes share are needed once. 3 MiB more or less do not matter.
- one word: `"copied"` if more than half of that is its own memory, else `"evicted"` if more than 8 MiB that it had \
are gone, else `"part"` if it needs less than half of the model, else `"cached"`.

The check asks your function about five servers.
""",
    starter='''def explain(size, before, after):
    """(bytes needed, word) from what a server showed before and after it answered."""
    ...
''',
    judge=check_six,
    hints=(
        "Leave `free` alone: it tells of the whole machine, and `used` leaves out the pages of files. Of the "
        "processes: which figure counts memory of their own, and which one counts the file's pages, shared ones once?",
        "needed = growth of RssAnon + growth of Pss_File + what is gone, all processes added up. What is gone: the "
        "most that was resident, VmHWM, less what is resident now, RssAnon + RssFile.",
    ),
    solution_source='''def explain(size, before, after):
    """(bytes needed, word) from what a server showed before and after it answered."""
    own = shared = gone = 0
    for was, now in zip(before["processes"], after["processes"]):
        own += now["RssAnon"] - was["RssAnon"]
        shared += now["Pss_File"] - was["Pss_File"]
        gone += now["VmHWM"] - now["RssAnon"] - now["RssFile"]
    needed = own + shared + gone
    if own > needed / 2:
        return needed, "copied"
    if gone > 8 * 2**20:
        return needed, "evicted"
    return needed, "part" if needed < size / 2 else "cached"
''',
    wrong=tuple(
        (
            f"""def explain(size, before, after):
    def grew(meter):
        return sum(now[meter] - was[meter] for was, now in zip(before["processes"], after["processes"]))
    gone = sum(now["VmHWM"] - now["RssAnon"] - now["RssFile"] for now in after["processes"])
    own = grew("RssAnon")
    needed = {needed}
    word = "copied" if own > needed / 2 else "evicted" if gone > 2**23 else "part" if needed < size / 2 else "cached"
    return {value}
""",
            message,
        )
        for needed, value, message in (
            ('after["free"]["used"] - before["free"]["used"]', "needed, word", "It is how a model of 20 GB seemed to"),
            ("own", "needed, word", "without them each answer waits for the disk"),
            ('own + grew("RssFile")', "needed, word", "Two that map the same file need its pages once"),
            ('own + grew("Pss_File")', "needed, word", "the next answer wants that again"),
            ('grew("VmHWM")', "needed, word", "Two that map the same file need its pages once"),
            (
                'after["free"]["buff/cache"] - before["free"]["buff/cache"]',
                "needed, word",
                "It keeps what was read once, needed or not",
            ),
            ("size", "needed, word", "Which part of it does an answer touch?"),
            ('own + grew("Pss_File") + gone', 'needed, "cached"', "the bytes are right, but not the word 'cached'"),
            ('own + grew("Pss_File") + gone', "needed", "Return two things"),
        )
    ),
)

EXERCISES = (SERVE, SNAPSHOT, SIX)


# --- quizzes --------------------------------------------------------------------------------------------------
def elsewhere(path: Path) -> int | None:
    """1 if a file that one process maps again and again, and another one too, comes to lie at different addresses."""

    def address(path):
        import mmap

        import numpy as np

        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapping, np.uint8).ctypes.data

    found = {measure(address, str(path)).value for _ in range(3)}
    return 1 if len(found) > 1 else None  # where addresses are not randomised, nothing is seen


def where_the_time_went(path: Path) -> int | None:
    """2 if of open, first pass and second pass nearly all page faults are in the first pass, with a warm cache, too."""

    def passes(path):
        import mmap
        import resource

        def faults():
            used = resource.getrusage(resource.RUSAGE_SELF)
            return used.ru_minflt + used.ru_majflt

        def touch():
            return sum(mapping[at] for at in range(0, len(mapping), mmap.PAGESIZE))

        start = faults()
        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        opened = faults()
        touch()
        first = faults()
        touch()
        return opened - start, first - opened, faults() - first

    if os.name != "posix":
        return None
    opened, first, second = measure(passes, str(path)).value
    return 2 if first > 4 * (opened + second) else 0


def four_workers(path: Path) -> int | None:
    """1 if four workers that map the same file and touch all of it have it once in PSS and four times in RSS."""

    def use(path):
        import mmap

        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sum(mapping[at] for at in range(0, len(mapping), mmap.PAGESIZE))
        return mapping

    crowd, size = workers(use, str(path)), path.stat().st_size
    if crowd.missing:
        return None
    return 1 if crowd.total("pss") < 1.5 * size and crowd.total("rss") > 3.5 * size else 0


QUIZZES = (
    Quiz(
        "09.pointers",
        "A program has built an index: objects that refer to each other. It writes the bytes of its heap to a file as "
        "they are. Why can another process not map that file and use the index?",
        (
            Choice(
                "Because a mapping is read-only, and objects must be written to.",
                False,
                "A private mapping can be written to, and what is written stays in this process. Objects that count "
                "references would then copy every page, but they could.",
            ),
            Choice(
                "Because a reference is an address, and in the other process something else lies at that address, or "
                "nothing.",
                True,
                "Yes. The kernel maps the file wherever there is room, and at another place in every process. An "
                "address was right in one process. An *offset* into the file is right in all of them: that is what an "
                "arena and a tensor file have in place of pointers.",
            ),
            Choice(
                "Because the heap is anonymous memory, and that cannot be written to a file.",
                False,
                "Bytes are bytes, and `write` takes them from anywhere. They arrive in the file as they were; what "
                "they mean does not.",
            ),
            Choice(
                "Because the file would have to be parsed first, like JSON.",
                False,
                "Nothing would be there to parse: it holds the objects, as they lie in memory. That is what makes it "
                "look so tempting.",
            ),
        ),
        on_a_file(elsewhere),
    ),
    Quiz(
        "09.first",
        "To map a model takes a millisecond, whatever its size. The first answer takes much longer than the second, "
        "although the file is in the page cache. Where did the time of loading go?",
        (
            Choice(
                "Nowhere: it was saved. The first answer is slow because Python has to warm up.",
                False,
                "Count the page faults of the two answers: they differ by a factor, and Python has no part in it. Some "
                "time was saved, that of the copy; the rest has moved.",
            ),
            Choice(
                "Into the mapping: the kernel goes on loading in the background until the second answer.",
                False,
                "Nothing is loaded until somebody touches a page (or asks for it, with `madvise`). Wait a minute "
                "between mapping and asking: the first answer is as slow as before.",
            ),
            Choice(
                "Into the first touch of each page: that is when it enters this process's page table.",
                True,
                "Yes. Each fault maps a handful of pages, and only when the code comes to them. With a cold cache the "
                "same faults also wait for the disk. So time the first answer as well before you say how fast a load "
                "is.",
            ),
            Choice(
                "Into a copy: the first answer copies the weights to the heap, the second finds them there.",
                False,
                "Anonymous memory does not grow by it. The pages stay the page cache's, in the second answer as in the "
                "first.",
            ),
        ),
        on_a_file(where_the_time_went),
    ),
    Quiz(
        "09.workers",
        "Four workers map the same model of 1 GiB, and each has used all of it. `top` shows 1 GiB of RES for each. "
        "How much memory does the model take on this machine, and why?",
        (
            Choice(
                "4 GiB: RES is resident memory, and four times 1 GiB is resident.",
                False,
                "Each figure is right, and their sum is not: it counts the same pages four times. Add up PSS instead.",
            ),
            Choice(
                "1 GiB: all four page tables point to the same pages of the page cache.",
                True,
                "Yes. RSS counts a page in full in every process that maps it; PSS counts it by a quarter in each of "
                "the four, and the sum of PSS is 1 GiB. A fifth worker would cost next to nothing.",
            ),
            Choice(
                "5 GiB: one in the page cache, and one in each worker.",
                False,
                "That would be so if each worker had read the file: a copy of its own, beside the page cache. A "
                "mapping has no pages beside those of the page cache.",
            ),
            Choice(
                "Nothing: mapped pages are on the disk, and memory that is lent does not count.",
                False,
                "It is lent, but it is there: 1 GiB of memory is full of it. If others need it, the kernel takes it "
                "back, and then the next answer waits for the disk.",
            ),
        ),
        on_a_file(four_workers),
    ),
)
