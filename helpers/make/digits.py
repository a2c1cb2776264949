"""A model that reads handwritten digits, and pictures it has never seen. data/samples says where they come from.

`helpers.make.train_digits` made both files.
"""

import numpy as np

from ..folders import DATA
from ..ideas.safetensors import TensorFile

DIGITS = DATA / "samples" / "digits.safetensors"
IMAGES = DATA / "samples" / "digits-test.safetensors"


def digits() -> tuple[np.ndarray, np.ndarray]:
    """The pictures, (n, 8, 8) uint8 from 0 (paper) to 16 (ink), and the digits they show, (n,) uint8.

    The model in DIGITS takes a picture as 64 numbers, row by row, divided by 16. Its weights are float32:
    "hidden.weight" [h, 64], "hidden.bias" [h], "out.weight" [10, h], "out.bias" [10]. Call them w, b, v and c: then
    `(np.maximum(x @ w.T + b, 0) @ v.T + c).argmax(1)` reads the (n, 64) pictures x.
    """
    with TensorFile(IMAGES) as file:
        return file["images"], file["labels"]
