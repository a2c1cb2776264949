"""08.keeps: the tensor, owned; nothing of the file mapped or open afterwards, never much of it in anonymous memory."""

import secrets
from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import TensorFile, save
from helpers.owners import mapping_under
from helpers.teach.inside import open_files
from helpers.teach.judging import CRASHED, Attempt, NotYet, Verdict, called, within
from helpers.units import MiB, in_words

SIDE = 1024  # a layer: SIDE x SIDE weights and SIDE biases, float32


def run(function, path: str, name: str, here) -> dict:
    """What can be seen of the result when all else is gone: type, dtype, shape, and the bytes if they are few.

    `view` of a mapping? Is the file still `mapped`, how many more `files` are open; None where there is no /proc.
    here: modules that are loaded before anything is measured.
    """
    import gc
    import os

    before = open_files()
    array = function(path, name)
    gc.collect()
    told = {"type": type(array).__name__, "dtype": None, "view": False, "mapped": None, "files": None}
    if hasattr(array, "dtype") and hasattr(array, "ravel"):
        told |= {"dtype": str(array.dtype), "shape": tuple(array.shape), "view": mapping_under(array) is not None}
        told["bytes"] = array.tobytes() if array.nbytes <= 65536 else None
    if os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps") as maps:
            told["mapped"] = any(line.rstrip().endswith(path) for line in maps)
    if before is not None:
        told["files"] = open_files() - before
    return told


def judge(attempt: Attempt) -> Verdict:
    layers = max(2, attempt.size // (4 * SIDE * SIDE))
    path, name, wanted = model(attempt.folder.resolve() / "model.safetensors", layers)
    try:
        seen = attempt.run(run, str(path), name, (np, TensorFile), memory_limit=4 * attempt.size + 64 * MiB)
    except NotYet:
        if attempt.recording.ended not in CRASHED:
            raise
        why = "reading the array ended the process: nothing is mapped any more at the addresses it points to. An array "
        raise NotYet("dangling", f"{why}that owns its bytes needs no mapping.") from None
    told = seen.value
    if told["dtype"] is None:
        raise NotYet("no-array", f"it returned {called(told['type'])}, not an array.")
    expected, got = (str(wanted.dtype), wanted.shape), (told["dtype"], told["shape"])
    if got != expected:
        why = f"expected {expected[0]} of shape {expected[1]}, got {got[0]} of shape {got[1]}."
        raise NotYet("wrong-shape" if got[0] == expected[0] else "wrong-dtype", why)
    if told["bytes"] != wanted.tobytes():
        raise NotYet("wrong-numbers", f"these are not the numbers of `{name}`, the tensor that was asked for.")
    if told["view"]:
        few, whole = in_words(wanted.nbytes, "bytes"), in_words(path.stat().st_size, "bytes")
        why = f"the numbers are right, but the array is a view: for its {few} the whole file of {whole} stays mapped. "
        raise NotYet("view", f"{why}Closing the file did not change that. Which of numpy's ways really copies?")
    if told["mapped"]:
        why = (
            "the array owns its bytes, but something of yours keeps the file mapped. Close the file before you return."
        )
        raise NotYet("still-mapped", why)
    if told["files"]:
        why = "the array owns its bytes, but a file descriptor is still open. Close what you have opened."
        raise NotYet("still-open", why)
    return within(seen, MiB, "The tensor is right, owns its bytes, and nothing of the file is left")


def model(path: Path, layers: int) -> tuple[Path, str, np.ndarray]:
    """A file of layers, and the name and the numbers of one bias in it."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    weight = rng.random((SIDE, SIDE), "f4")
    biases = {f"layers.{i}.bias": rng.random(SIDE, "f4") for i in range(layers)}
    save({f"layers.{i}.weight": weight for i in range(layers)} | biases, path)
    name = f"layers.{1 + secrets.randbelow(layers - 1)}.bias"
    return path, name, biases[name]
