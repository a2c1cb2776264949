"""08.liar: of a dozen loaders with meaningless names, exactly those that copy."""

import pickle
import secrets
import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import save
from helpers.measure import maps
from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import KiB, MiB

NUMBERS = 256 * KiB  # float32 of the largest array
NAMES = (
    "ash",
    "beech",
    "birch",
    "cedar",
    "elm",
    "fir",
    "hazel",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
    "willow",
)
LOADERS = tomllib.loads(Path(__file__).with_name("loaders.toml").read_text(encoding="utf-8"))


def run(function, cases: dict[str, tuple[str, Path]], layout: dict, head: bytes) -> list[str] | str:
    """The names that the function returns, sorted; its answer as it prints if these aren't names.

    cases: name -> kind of loader, and path.
    """
    known = loaders(layout, head)
    given = {name: (known[kind], path) for name, (kind, path) in cases.items()}
    known.clear()  # these two would tell which is which
    cases.clear()
    said = function(given)
    if isinstance(said, list | tuple | set | frozenset) and all(
        isinstance(name, str) for name in said
    ):
        return sorted(map(str, said))
    return repr(said)[:200]


def loaders(layout: dict[str, tuple[int, int]], head: bytes) -> dict:
    """Kind -> loader, which takes the path of a file and returns a dict of arrays.

    layout: name -> (first byte, count of float32), for a file of bytes; head: a pickle whose arrays
    lie in the file.
    """
    import mmap
    import pickle
    import shutil
    from importlib import import_module
    from pathlib import Path

    import numpy as np

    def mapped(path):
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def cut(data):
        return {name: np.frombuffer(data, "f4", count, at) for name, (at, count) in layout.items()}

    def sealed(path):
        arrays = {
            name: np.fromfile(path, "f4", count, offset=at) for name, (at, count) in layout.items()
        }
        for array in arrays.values():
            array.flags.writeable = False
        return arrays

    def nameless(path):
        data = Path(path).read_bytes()
        memory = mmap.mmap(-1, len(data))
        memory.write(data)
        return memory

    def unpickled(view):
        return pickle.loads(
            head, buffers=[view[at : at + 4 * count] for at, count in layout.values()]
        )

    def middle_one_copied(arrays):
        return {
            name: array.copy() if array.nbytes == 4096 else array for name, array in arrays.items()
        }

    return {
        "npy": lambda path: {"weight": np.load(path, mmap_mode="r")},
        "npz": lambda path: dict(np.load(path, mmap_mode="r")),
        "maps": lambda path: cut(mapped(path)),
        "private": lambda path: {
            name: np.memmap(path, "f4", "c", *place) for name, place in layout.items()
        },
        "pickle": lambda path: unpickled(memoryview(mapped(path))),
        "reads": lambda path: cut(Path(path).read_bytes()),
        "sealed": sealed,
        "kept type": lambda path: {
            name: np.memmap(path, "f4", "r", *place).copy() for name, place in layout.items()
        },
        "elsewhere": lambda path: cut(mapped(shutil.copyfile(path, f"{path}.cache"))),
        "nameless": lambda path: cut(nameless(path)),
        "small ones": lambda path: middle_one_copied(cut(mapped(path))),
        "house": lambda path: dict(import_module("helpers.ideas.safetensors").TensorFile(path)),
        "library": lambda path: import_module("safetensors.numpy").load_file(path),
    }


def judge(attempt: Attempt) -> Verdict:
    chance = secrets.SystemRandom()
    kinds = [kind for kind in LOADERS if kind != "library" or find_spec("safetensors")]
    names = dict(zip(kinds, chance.sample(NAMES, len(kinds)), strict=True))
    paths, layout, head = files(attempt.folder.resolve())
    cases = {names[kind]: (kind, paths[kind]) for kind in chance.sample(kinds, len(kinds))}
    attempt.hand_out(attempt.folder)
    said = attempt.run(run, cases, layout, head, memory_limit=256 * MiB).value
    if isinstance(said, str) or not set(said) <= set(names.values()):
        raise NotYet(
            "no-names", f"expected a list of the names of the loaders that copy, got {said}."
        )
    exactly_those(said, names)
    copy = sum(LOADERS[kind]["copies"] for kind in kinds)
    done = f"Of {len(kinds)} loaders you found the {copy} that copy, and accused no other."
    return right(done, (f"{copy} copy", f"{len(kinds) - copy} borrow"))


def exactly_those(said: list[str], names: dict[str, str]) -> None:
    """Raises NotYet about a loader that borrows but was accused, or copies but was missed. names:
    kind -> name.
    """
    instead = (
        " `where` measures nothing here: write other bytes to the file and see which arrays change."
    )
    for kind, name in names.items():
        copies = LOADERS[kind]["copies"]
        about = (
            f"It was {LOADERS[kind]['does']}. "
            f"{LOADERS[kind]['why']}{instead if maps.why_not() else ''}"
        )
        if name in said and not copies:
            raise NotYet("accused", f"you accused `{name}`, which borrows. {about}")
        if name not in said and copies:
            raise NotYet("missed", f"you didn't accuse `{name}`, which copies. {about}")


def files(
    folder: Path, numbers: int = NUMBERS
) -> tuple[dict[str, Path], dict[str, tuple[int, int]], bytes]:
    """Each kind of loader's file; where in a file of bytes the arrays lie; a pickle of them, out of
    band.
    """
    rng = np.random.default_rng(secrets.randbelow(2**32))
    arrays = {
        name: rng.random(n, "f4") for name, n in (("weight", numbers), ("bias", 1024), ("scale", 4))
    }
    head = pickle.dumps(arrays, protocol=5, buffer_callback=lambda buffer: None)
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
