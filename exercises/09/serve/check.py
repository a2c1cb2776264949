"""09.serve: every answer right in float32, within 1.5 models of anonymous memory, the files not read anew each time."""

import secrets
from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import save
from helpers.teach.judging import Attempt, NotYet, Verdict, called, own_memory, within
from helpers.units import MiB, in_words

LAYERS, ROUNDS = 8, 3
STORED = ("float32", "float16", "float16")
TOLERANCE = 1e-4  # of the largest number of an answer: float32 has a hundred times less, float16 ten times more


def run(function, paths: list[str], requests: list[tuple]) -> tuple[str, list[dict] | None]:
    """Type of what the function returns; of each answer type, dtype, shape and, if it is a vector, the numbers.

    The requests hold vectors of numpy's, so numpy is loaded before anything is measured.
    """
    answers = function(paths, requests)
    if not isinstance(answers, list | tuple):
        return type(answers).__name__, None
    return "list", [as_vector(one) for one in answers[: len(requests) + 1]]


def as_vector(value) -> dict:
    told = {"type": type(value).__name__, "dtype": None, "shape": None, "numbers": None}
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        told |= {"dtype": str(value.dtype), "shape": tuple(value.shape)}
        told["numbers"] = value.astype("f8").tolist() if value.ndim == 1 and value.dtype.kind == "f" else None
    return told


def judge(attempt: Attempt) -> Verdict:
    paths, requests, wanted = models(attempt.folder, attempt.size)
    files = sum(path.stat().st_size for path in paths)
    seen = attempt.run(run, [str(path) for path in paths], requests, memory_limit=6 * attempt.size + 64 * MiB)
    as_wanted(*seen.value, wanted)
    try:
        verdict = within(seen, attempt.size * 3 // 2, f"All {len(wanted)} answers are right")
    except NotYet as slip:
        raise NotYet(slip.cause, slip.because + whose(own_memory(seen), attempt.size), slip.figures) from None
    read = seen.io.read_bytes
    if read is not None and read > 1.5 * files:
        why = (
            f"the answers are right, and the memory is within its budget, but calls read {in_words(read, 'bytes')}, "
            f"and the files have {in_words(files, 'bytes')}: weights are copied out of the page cache again and again. "
            "Map the files: then every request can use the weights where they are."
        )
        raise NotYet("read-again", why, verdict.figures)
    return verdict


def as_wanted(kind: str, told: list[dict] | None, wanted: list[np.ndarray]) -> None:
    """NotYet about the first answer that is not right."""
    if told is None:
        raise NotYet("no-list", f"it returned {called(kind)}. Return a list with an answer for each request.")
    if len(told) != len(wanted):
        got = "more" if len(told) > len(wanted) else len(told)
        raise NotYet("wrong-count", f"expected {len(wanted)} answers, one for each request, got {got}.")
    for number, (one, right) in enumerate(zip(told, wanted, strict=True), 1):
        if one["shape"] != right.shape or one["numbers"] is None:
            got = called(one["type"]) if one["shape"] is None else f"{one['dtype']} of shape {one['shape']}"
            raise NotYet("no-vector", f"answer {number}: expected a vector of {right.size:,} numbers, got {got}.")
        off = float(np.abs(np.array(one["numbers"]) - right).max() / right.max())
        if off <= TOLERANCE and one["dtype"] != "float16":
            continue
        if off < 0.1:
            why = (
                f"answer {number} is off by {off:.1e} of its largest number. Three digits are right, as many as "
                "float16 has: somewhere float16 is multiplied by float16. The weights may be stored as float16; the "
                "vector, and what comes of it, must stay float32."
            )
            raise NotYet("half-precision", why)
        why = (
            f"answer {number} is not the model's. Do you use the model that the request names, and all {LAYERS} "
            "layers, in their order, each with `max(weight @ x + bias, 0)`?"
        )
        raise NotYet("other-numbers", why)


def whose(own: int | None, model: int) -> str:
    """What takes that much, as far as the amount tells."""
    if own is None:
        return ""
    if own > 2.5 * model:
        return (
            " That is all three models: each tensor was copied. A TensorFile lends its tensors, and `weight @ x` reads "
            "them where they are."
        )
    return (
        " The two float16 models take that much when they are float32, and so do the three files as they are. Do you "
        "keep layers that you converted, or copy what a TensorFile lends? Nobody needs a layer once the next one has "
        "its turn."
    )


def models(folder: Path, size: int) -> tuple[list[Path], list[tuple[int, np.ndarray]], list[np.ndarray]]:
    """Three model files in random order, requests that go to and fro between them, and the answers.

    size: bytes of a model in float32. Weights are normal with a variance of 2/n: numbers then keep their size through
    layers with a relu.
    """
    rng = np.random.default_rng(secrets.randbelow(2**32))
    n = int((size / 4 / LAYERS) ** 0.5)
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
        paths.append(folder / f"model-{number}.safetensors")
        save(tensors, paths[-1])
        for at, (which, x) in enumerate(requests):
            if which == number:
                for i in range(LAYERS):
                    x = np.maximum(tensors[f"layers.{i}.weight"] @ x + tensors[f"layers.{i}.bias"], 0)
                answers[at] = x
    return paths, requests, [answers[at] for at in range(len(requests))]
