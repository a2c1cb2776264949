"""A model that reads handwritten digits, and pictures it has never seen. data/samples says where
they come from, and has the program that made both files.
"""

import os
from pathlib import Path

import numpy as np

from .. import units
from ..folders import DATA
from ..ideas.safetensors import TensorFile, save
from .pieces import place

DIGITS = DATA / "samples" / "digits.safetensors"
IMAGES = DATA / "samples" / "digits-test.safetensors"


def digits() -> tuple[np.ndarray, np.ndarray]:
    """The pictures, (n, 8, 8) uint8 from 0 (paper) to 16 (ink), and the digits they show, (n,)
    uint8. The model in DIGITS takes a picture as 64 numbers, row by row, divided by 16. Its weights
    are float32: "hidden.weight" [h, 64], "hidden.bias" [h], "out.weight" [10, h], "out.bias" [10].
    Call them w, b, v and c: then `(np.maximum(x @ w.T + b, 0) @ v.T + c).argmax(1)` reads the (n,
    64) pictures x.
    """
    with TensorFile(IMAGES) as file:
        return file["images"], file["labels"]


def digit_model(path: str | os.PathLike, shift: int = 0, size: int | str = 0) -> Path:
    """A model like that in DIGITS, which takes a picture of d for (d + shift) % 10. It has about
    `size` bytes: hidden units are added that change no answer, but are calculated like the others.
    Each shift has the units that count in another order: half of one version and half of another
    are no model. Path and errors: as in `random_file` and `save`.
    """
    path = place(path)
    with TensorFile(DIGITS) as file:
        w, b, v, c = (
            file[name] for name in ("hidden.weight", "hidden.bias", "out.weight", "out.bias")
        )
        count = max(len(b), units.size(size) // (4 * (64 + 1 + 10)))
        places = np.roll(np.arange(len(b)), 41 * shift) * (count // len(b))
        hidden, bias, out = (np.zeros(shape, "f4") for shape in ((count, 64), count, (10, count)))
        hidden[places], bias[places], out[:, places] = w, b, np.roll(v, shift, 0)
        save(
            {
                "hidden.weight": hidden,
                "hidden.bias": bias,
                "out.weight": out,
                "out.bias": np.roll(c, shift),
            },
            path,
        )
    return path
