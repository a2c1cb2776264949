"""09.serve: every answer right in float32, at most 1.5 models of anonymous memory, and no file read
again and again.
"""

import secrets
from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import save
from helpers.teach.judging import Attempt, NotYet, Verdict, called, within
from helpers.units import MiB, in_words

LAYERS, ROUNDS = 8, 3
STORED = ("float32", "float16", "float16")
HALF = "The weights may be stored as float16; the vector must stay float32."
# of an answer's largest number: float32 is off by a hundred times less, float16 by ten times more
TOLERANCE = 1e-4


def run(function, paths: list[Path], requests: list[tuple]) -> tuple[list | str, list]:
    """The answers (for what isn't an array, its type), or the type of what isn't a list of answers.
    And the vectors of the requests, as they are now.

    The requests hold numpy vectors, so numpy is loaded before anything is measured.
    """
    import numpy as np

    answers, asked = function(paths, list(requests)), [vector for _, vector in requests]
    if not isinstance(answers, list | tuple):
        return type(answers).__name__, asked
    arrays = [
        item if isinstance(item, np.ndarray) else type(item).__name__
        for item in answers[: len(requests) + 1]
    ]
    return arrays, asked


def judge(attempt: Attempt) -> Verdict:
    paths, requests, wanted = models(attempt.folder, attempt.size)
    attempt.hand_out(attempt.folder)
    seen = attempt.run(run, paths, requests, memory_limit=6 * attempt.size + 64 * MiB)
    answers, asked = seen.value
    as_wanted(answers, wanted)
    if any(
        now.tobytes() != vector.tobytes() for now, (_, vector) in zip(asked, requests, strict=True)
    ):
        why = (
            "the answers are right, but a request's vector has other numbers now. It belongs to "
            "the caller."
        )
        raise NotYet("vector-changed", why)
    try:
        verdict = within(seen, attempt.size * 3 // 2, f"All {len(wanted)} answers are right")
    except NotYet as slip:
        why = (
            "Do you copy tensors, or keep converted ones? A layer's turn is over when the next "
            "layer's begins."
        )
        raise NotYet(slip.cause, f"{slip.because} {why}", slip.figures) from None
    read, files = seen.io.read_bytes, sum(path.stat().st_size for path in paths)
    if read is not None and read > 1.5 * files:
        why = (
            "the answers are right and the memory is within its budget, but calls read "
            f"{in_words(read, 'bytes')} from files of {in_words(files, 'bytes')}: weights are "
            "copied out of the page cache again and again. Map the files: then every request can "
            "use the weights where they are."
        )
        raise NotYet("read-again", why, verdict.figures)
    return verdict


def as_wanted(answers: list | str, wanted: list[np.ndarray]) -> None:
    """Raises NotYet about the first answer that isn't right."""
    if isinstance(answers, str) or len(answers) != len(wanted):
        got = called(answers) if isinstance(answers, str) else f"{len(answers)} of them"
        raise NotYet(
            "other-count",
            f"expected a list of {len(wanted)} answers, one for each request, got {got}.",
        )
    for number, (answer, right) in enumerate(zip(answers, wanted, strict=True), 1):
        expected = f"float32 of shape {right.shape}"
        got = (
            f"`{answer}`" if isinstance(answer, str) else f"{answer.dtype} of shape {answer.shape}"
        )
        if got == expected.replace("float32", "float16"):
            raise NotYet("half-precision", f"answer {number} is float16. {HALF}")
        if got != expected:
            raise NotYet("no-vector", f"answer {number}: expected {expected}, got {got}.")
        off = float(np.abs(answer - right).max() / right.max())
        if TOLERANCE < off < 0.1:
            why = (
                "Is float16 multiplied by float16 somewhere, or a float32 weight stored as float16?"
            )
            why = (
                f"answer {number} is off by {off:.3%} of its largest number, too much for float32. "
                f"{why} {HALF}"
            )
            raise NotYet("half-precision", why)
        if not off <= TOLERANCE:  # so NaN is wrong too
            why = (
                f"all {LAYERS} layers of the model that was asked for, in order, each with "
                "`max(weight @ x + bias, 0)`"
            )
            raise NotYet(
                "other-numbers", f"answer {number} isn't what its model gives. Expected: {why}."
            )


def models(
    folder: Path, size: int
) -> tuple[list[Path], list[tuple[int, np.ndarray]], list[np.ndarray]]:
    """Three model files in random order, requests that go back and forth between them, and the
    answers.

    size: bytes of a model in float32. Weights are normal with a variance of 2/n, so that numbers
    keep their size through ReLU layers.
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
            tensors[f"layers.{i}.weight"] = rng.standard_normal((n, n), np.float32) * np.float32(
                (2 / n) ** 0.5
            )
            tensors[f"layers.{i}.bias"] = rng.standard_normal(n, np.float32) / 8
        tensors = {name: tensor.astype(stored) for name, tensor in tensors.items()}
        paths.append(folder / f"model-{number}.safetensors")
        save(tensors, paths[-1])
        for at, (which, x) in enumerate(requests):
            if which == number:
                for i in range(LAYERS):
                    x = np.maximum(
                        tensors[f"layers.{i}.weight"] @ x + tensors[f"layers.{i}.bias"], 0
                    )
                answers[at] = x
    return paths, requests, [answers[at] for at in range(len(requests))]
