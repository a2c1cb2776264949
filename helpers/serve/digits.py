"""The model: a recogniser of digits (helpers.make.digits), what it reads, and three ways to hold
its weights.

mapped  views of the file: nothing is read until an answer needs it, and all processes share it
copied  the file, read into this process's own memory
half    copied and rounded to float16: half the memory, and each answer converts them back

They differ in where the weights are. All have `read(pictures)`, and nobody asks which one it is
(lesson 06).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from ..ideas.carts import MappedFile
from ..ideas.cow import Cow
from ..ideas.tensor_header import read_header
from ..ideas.yoke import Yoke
from ..units import MiB
from .validation import Refused

PIXELS, DIGITS, INK = 64, 10, 16
NAMES = ("hidden.weight", "hidden.bias", "out.weight", "out.bias")
BLOCK = 2 * MiB  # bytes of hidden units, for all pictures
# what a tenant may change: not the largest tensor, so that a tenant's weights always borrow
OWN = NAMES[1:]


@dataclass(frozen=True)
class Digits:
    """The weights, for h hidden units: (h, 64), (h,), (10, h) and (10,) float32, read-only."""

    hidden_weight: np.ndarray
    hidden_bias: np.ndarray
    out_weight: np.ndarray
    out_bias: np.ndarray

    def read(self, pictures: np.ndarray) -> np.ndarray:
        """The digits on (n, 64) uint8 pictures: (n,) integers. It calculates as many hidden units
        at a time as fit into BLOCK, so a few MiB are enough for any model, and for as many pictures
        as a request may bring.
        """
        ink = pictures.astype(np.float32)
        scores = self.out_bias
        ink /= INK
        step = max(1, BLOCK // (4 * max(1, len(pictures))))
        for at in range(0, len(self.hidden_bias), step):
            these = slice(at, at + step)
            hidden = ink @ self.hidden_weight[these].T
            hidden += self.hidden_bias[these]
            scores = scores + np.maximum(hidden, 0, out=hidden) @ self.out_weight[:, these].T
        return scores.argmax(1)

    @property
    def weights(self) -> dict[str, np.ndarray]:
        return {
            name: getattr(self, field.name)
            for name, field in zip(NAMES, fields(Digits), strict=True)
        }

    def changed(self, changes: Mapping[str, list]) -> "Digits":
        """These weights with a tenant's own in some places. Only what changes is copied: the rest
        is borrowed.
        """
        cows = {name: Cow.borrowed(array) for name, array in self.weights.items()}
        for name, values in changes.items():
            own = cows[name].to_mut()
            own[...] = np.reshape(np.asarray(values, own.dtype), own.shape)
        return type(self)(*(cow.value for cow in cows.values()))


class Half(Digits):
    """The weights as float16. sys.getsizeof(half) counts them, as a cache wants to know
    (Yoke.size).
    """

    def read(self, pictures: np.ndarray) -> np.ndarray:
        return Digits(*(array.astype(np.float32) for array in self.weights.values())).read(pictures)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(array.nbytes for array in self.weights.values())


def digits_in(view: memoryview) -> Digits:
    """The weights in a safetensors file, as views. Other tensors may lie beside them.
    SafetensorsError if it breaks a rule of the format; Refused if it isn't a model that reads
    digits.
    """
    entries = read_header(view).entries
    if missing := [name for name in NAMES if name not in entries]:
        raise Refused(422, f"it has no tensor {missing[0]}", "names")
    arrays = []
    hidden = entries["out.weight"].shape[-1:]
    shapes = ((*hidden, PIXELS), hidden, (DIGITS, *hidden), (DIGITS,))
    for name, shape in zip(NAMES, shapes, strict=True):
        entry = entries[name]
        if entry.dtype != "F32" or entry.shape != shape or not hidden or not all(shape):
            raise Refused(422, f"{name} is {entry.dtype} {entry.shape}, not F32 {shape}", "shapes")
        if entry.begin % 4:
            reason = f"{name} begins at byte {entry.begin}, no multiple of 4: it can't be borrowed"
            raise Refused(422, reason, "aligned")
        # counted (lesson 07)
        arrays.append(np.frombuffer(view[entry.begin : entry.end], "<f4").reshape(shape))
    return Digits(*arrays)


def halved(path: Path) -> Yoke:
    with Yoke.attach(MappedFile(path), digits_in) as digits:
        return Yoke.owned(Half(*(array.astype(np.float16) for array in digits.weights.values())))


BACKENDS: dict[str, Callable[[Path], Yoke]] = {
    "mapped": lambda path: Yoke.attach(MappedFile(path), digits_in),
    "copied": lambda path: Yoke.attach(path.read_bytes(), digits_in),
    "half": halved,
}


def pictures_in(body: bytes) -> np.ndarray:
    """(n, 64) uint8: 64 bytes for each picture, from 0 (paper) to 16 (ink)."""
    if not body or len(body) % PIXELS:
        raise Refused(422, f"{len(body):,} bytes aren't pictures of {PIXELS}")
    pictures = np.frombuffer(body, np.uint8).reshape(-1, PIXELS)
    if pictures.max() > INK:
        raise Refused(422, f"a pixel is {pictures.max()}; 0 (paper) to {INK} (ink)")
    return pictures


def check_own(body: bytes, sizes: Mapping[str, int]) -> None:
    """A tenant's own weights, as JSON: for some of the tensors in OWN, as many finite numbers as
    the model has.
    """
    try:
        weights = json.loads(body)
        with np.errstate(over="ignore"):
            arrays = {name: np.asarray(values, np.float32) for name, values in weights.items()}
        fit = arrays and all(
            name in OWN and array.size == sizes[name] for name, array in arrays.items()
        )
        fit = fit and all(np.isfinite(array).all() for array in arrays.values())
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        fit = False
    if not fit:
        lists = ", ".join(f"{name}: {sizes[name]:,}" for name in OWN)
        raise Refused(
            422,
            f"a tenant's weights are an object of lists of numbers, for some of {lists}",
            "numbers",
        )
