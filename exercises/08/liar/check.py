"""08.liar: of a dozen loaders under names that mean nothing, exactly those that copy."""

import pickle
import secrets
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import save
from helpers.measure import maps
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import KiB, MiB

NUMBERS = 256 * KiB  # float32 of the largest array
NAMES = ("ash", "beech", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "willow")
LOADERS = tomllib.loads(Path(__file__).with_name("loaders.toml").read_text(encoding="utf-8"))


# --- in the student's process ---------------------------------------------------------------------------------
def run(function, kinds: list[tuple[str, str, str]], layout: dict, head: bytes) -> tuple[str, str | list[str]]:
    """What the function returns: "names" and the names, sorted; if it returns none, its type and how it prints.

    kinds: of each loader kind, name and path.
    """
    said = function({name: (loader(kind, layout, head), path) for kind, name, path in kinds})
    if isinstance(said, list | tuple | set | frozenset) and all(isinstance(name, str) for name in said):
        return "names", sorted(map(str, said))
    return type(said).__name__, repr(said)[:200]


def loader(kind: str, layout: dict, head: bytes):
    """A loader of that kind: it returns a dict of arrays, from the file whose path it is given.

    layout: name -> (first byte, count of float32), for a file of bytes; head: a pickle whose arrays lie in the file.
    """
    import mmap
    import pickle
    import shutil

    import numpy as np

    def mapped(path):
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def cut(data):
        return {name: np.frombuffer(data, "f4", count, at) for name, (at, count) in layout.items()}

    def load(path):
        if kind == "npy":
            return {"weight": np.load(path, mmap_mode="r")}
        if kind == "npz":
            return dict(np.load(path, mmap_mode="r"))
        if kind == "maps":
            return cut(mapped(path))
        if kind == "private":
            return {name: np.memmap(path, "f4", "c", at, count) for name, (at, count) in layout.items()}
        if kind == "pickle":
            view = memoryview(mapped(path))
            return pickle.loads(head, buffers=[view[at : at + 4 * count] for at, count in layout.values()])
        if kind == "reads":
            with open(path, "rb") as file:
                return cut(file.read())
        if kind == "sealed":
            arrays = {name: np.fromfile(path, "f4", count, offset=at) for name, (at, count) in layout.items()}
            for array in arrays.values():
                array.flags.writeable = False
            return arrays
        if kind == "kept type":
            return {name: np.memmap(path, "f4", "r", at, count).copy() for name, (at, count) in layout.items()}
        if kind == "elsewhere":
            return cut(mapped(shutil.copyfile(path, f"{path}.cache")))
        if kind == "nameless":
            with open(path, "rb") as file:
                data = mmap.mmap(-1, sum(4 * count for _, count in layout.values()))
                file.readinto(data)
            return cut(data)
        if kind == "small ones":
            return {n: array.copy() if array.nbytes <= 4096 else array for n, array in cut(mapped(path)).items()}
        if kind == "house":
            from helpers.ideas.safetensors import TensorFile

            return dict(TensorFile(path))
        if kind == "library":
            from safetensors.numpy import load_file

            return load_file(path)
        raise ValueError(f"no loader {kind!r}")

    return load


# --- outside of it --------------------------------------------------------------------------------------------
def judge(attempt: Attempt) -> Verdict:
    kinds = [kind for kind in LOADERS if kind != "library" or find_spec("safetensors")]
    names = secrets.SystemRandom().sample(NAMES, len(kinds))
    secrets.SystemRandom().shuffle(kinds)
    paths, layout, head = files(attempt.folder.resolve())
    cases = [(kind, name, str(paths[kind])) for kind, name in zip(kinds, names, strict=True)]
    said = attempt.run(run, cases, layout, head, memory_limit=256 * MiB).value
    exactly_those(*said, dict(zip(kinds, names, strict=True)))
    copy = sum(LOADERS[kind]["copies"] for kind in kinds)
    done = f"Of {len(kinds)} loaders you found the {copy} that copy, and accused no other."
    return right(done, (f"{copy} copy", f"{len(kinds) - copy} borrow"))


def exactly_those(kind: str, said: str | list[str], as_named: Mapping[str, str]) -> None:
    """NotYet about the first loader that was accused although it borrows, or missed although it copies."""
    if kind != "names":
        got = called(kind) if kind == "NoneType" else said
        raise NotYet("no-names", f"it returned {got}. Return a list with the names of the loaders that copy.")
    if unknown := set(said) - set(as_named.values()):
        raise NotYet("unknown-name", f"it returned {min(unknown)!r}, which is no loader's name.")
    instead = " On this machine `where` measures nothing: write other bytes into the file, and see which arrays change."
    for kind in filter(as_named.get, LOADERS):
        name, loader = as_named[kind], LOADERS[kind]
        about = f"It was {loader['does']}. {loader['why']}{instead if maps.why_not() else ''}"
        if name in said and not loader["copies"]:
            raise NotYet("accused", f"you accused `{name}`, which borrows. {about}")
        if name not in said and loader["copies"]:
            raise NotYet("missed", f"you did not accuse `{name}`, which copies. {about}")


def files(folder: Path, numbers: int = NUMBERS) -> tuple[dict[str, Path], dict[str, tuple[int, int]], bytes]:
    """For each kind of loader its file; where in a file of bytes the arrays lie; a pickle of them, out of band."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    arrays = {name: rng.random(n, "f4") for name, n in (("weight", numbers), ("bias", 1024), ("scale", 4))}
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(arrays, protocol=5, buffer_callback=buffers.append)
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
