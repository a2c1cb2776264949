"""08.keeps: owned tensors; afterwards nothing of the file mapped or open, and never much of it in
anonymous memory.
"""

import secrets
from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import save
from helpers.safe_files import regular_file
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, held, within
from helpers.units import MiB, in_words

SIDE = 1024  # a layer: SIDE x SIDE weights, SIDE biases, and as many scales in a square, float32
DANGLING = (
    "reading the array crashed the process: nothing is mapped any more at the address that it "
    "points to. An array that owns its bytes needs no mapping."
)


def run(function, path: Path, names: list[str], np) -> list:
    """What the function returns for each name, as it is when it's sent; the type of anything but an
    array.

    numpy is an argument so that it is loaded before anything is measured.
    """
    import gc

    arrays = [function(path, name) for name in names]
    gc.collect()
    return [
        array if isinstance(array, np.ndarray) else f"`{type(array).__name__}`" for array in arrays
    ]


def judge(attempt: Attempt) -> Verdict:
    path, wanted = model(
        attempt.folder / "model.safetensors", max(2, attempt.size // (4 * SIDE * SIDE))
    )
    content, still = path.read_bytes(), set()

    def look(pid: int) -> None:
        """Notes what it still holds, then overwrites the numbers: an array that owns its bytes
        keeps the old ones.
        """
        attempt.unharmed()
        still.update(held(pid, attempt.folder))
        with regular_file(path, links=False, mode="r+b") as file:
            for right in wanted.values():
                file.seek(content.index(right.tobytes()))
                file.write(~right.view("u1"))
        attempt.hand_out(path)

    attempt.hand_out(path)
    limit, means = 4 * attempt.size + 64 * MiB, {CRASH: ("dangling", DANGLING)}
    seen = attempt.run(run, path, list(wanted), np, memory_limit=limit, means=means, look=look)
    few, whole = in_words(4 * SIDE, "bytes"), in_words(len(content), "bytes")
    for (name, right), array in zip(wanted.items(), seen.value, strict=True):
        expected = f"{right.dtype} of shape {right.shape}"
        got = array if isinstance(array, str) else f"{array.dtype} of shape {array.shape}"
        if got != expected:
            raise NotYet("other-array", f"expected {expected}, got {got}.")
        if array.tobytes() == (~right.view("u1")).tobytes():
            why = (
                "the numbers were right until the file was overwritten: the array is a view, and "
                f"its {few} keep the whole file of {whole} mapped, whether or not you close it. "
                "Which numpy function always copies?"
            )
            raise NotYet("view", why)
        if array.tobytes() != right.tobytes():
            raise NotYet(
                "other-numbers",
                f"these aren't the numbers of `{name}`, the tensor that was asked for.",
            )
    if "mapped" in still:
        why = (
            "the array owns its bytes, but the file is still mapped. Close it before you return,"
            " and keep no view."
        )
        raise NotYet("still-mapped", why)
    if still:
        raise NotYet(
            "still-open",
            "the array owns its bytes, but you left a file open. Close what you opened.",
        )
    return within(
        seen,
        MiB,
        "The tensors are right and own their bytes, and nothing of the file is still mapped or "
        "open",
    )


def model(path: Path, layers: int) -> tuple[Path, dict[str, np.ndarray]]:
    """A file of layers, and two of its small tensors by name: a vector and a square matrix."""
    rng = np.random.default_rng(secrets.randbelow(2**32))
    weight, side = rng.random((SIDE, SIDE), "f4"), int(SIDE**0.5)
    tensors = {f"layers.{i}.weight": weight for i in range(layers)}
    tensors |= {f"layers.{i}.bias": rng.random(SIDE, "f4") for i in range(layers)}
    tensors |= {f"layers.{i}.scale": rng.random((side, side), "f4") for i in range(layers)}
    save(tensors, path)
    names = [f"layers.{secrets.randbelow(layers)}.{kind}" for kind in ("bias", "scale")]
    return path, {name: tensors[name] for name in secrets.SystemRandom().sample(names, 2)}
