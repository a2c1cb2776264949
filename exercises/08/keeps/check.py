"""08.keeps: the tensor, owned; nothing of the file mapped or open afterwards, never much of it in anonymous memory."""

import secrets
from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import TensorFile, save
from helpers.owners import mapping_under
from helpers.teach.inside import is_mapped, open_files
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, within
from helpers.units import MiB, in_words

SIDE = 1024  # a layer: SIDE x SIDE weights and SIDE biases, float32
DANGLING = (
    "reading the array ended the process: nothing is mapped any more at the address that it points to. An array "
    "that owns its bytes needs no mapping."
)


def run(function, path: str, name: str, here) -> dict:
    """What the result is, and its bytes if they are few; is it a `view` of a mapping? Is the file still mapped or open?

    here: modules that are loaded before anything is measured.
    """
    import gc

    before = open_files()
    array = function(path, name)
    gc.collect()
    told = {"is": f"`{type(array).__name__}`", "mapped": is_mapped(path), "open": open_files() != before}
    if hasattr(array, "dtype") and hasattr(array, "ravel"):
        told |= {"is": f"{array.dtype} of shape {array.shape}", "view": mapping_under(array) is not None}
        told["bytes"] = array.tobytes() if array.nbytes <= 65536 else None
    return told


def judge(attempt: Attempt) -> Verdict:
    path, name, wanted = model(attempt.folder / "model.safetensors", max(2, attempt.size // (4 * SIDE * SIDE)))
    limit, means = 4 * attempt.size + 64 * MiB, {CRASH: ("dangling", DANGLING)}
    seen = attempt.run(run, str(path), name, (np, TensorFile), memory_limit=limit, means=means)
    told, expected = seen.value, f"{wanted.dtype} of shape {wanted.shape}"
    if told["is"] != expected:
        raise NotYet("other-array", f"expected {expected}, got {told['is']}.")
    if told["bytes"] != wanted.tobytes():
        raise NotYet("other-numbers", f"these are not the numbers of `{name}`, the tensor that was asked for.")
    if told["view"]:
        few, whole = in_words(wanted.nbytes, "bytes"), in_words(path.stat().st_size, "bytes")
        why = (
            f"the numbers are right, but the array is a view: its {few} keep the whole file of {whole} mapped, "
            "whether or not you close the file. Which of numpy's functions always copies?"
        )
        raise NotYet("view", why)
    if told["mapped"]:
        why = "the array owns its bytes, but the file is still mapped. Close it before you return, and keep no view."
        raise NotYet("still-mapped", why)
    if told["open"]:
        raise NotYet("still-open", "the array owns its bytes, but you left a file open. Close what you opened.")
    return within(seen, MiB, "The tensor is right, owns its bytes, and nothing of the file is left")


def model(path: Path, layers: int) -> tuple[Path, str, np.ndarray]:
    """A file of layers, and the name and the numbers of one bias in it."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    weight = rng.random((SIDE, SIDE), "f4")
    biases = {f"layers.{i}.bias": rng.random(SIDE, "f4") for i in range(layers)}
    save({f"layers.{i}.weight": weight for i in range(layers)} | biases, path)
    name = f"layers.{1 + secrets.randbelow(layers - 1)}.bias"
    return path, name, biases[name]
