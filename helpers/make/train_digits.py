"""`python -m helpers.make.train_digits` makes the files for `helpers.make.digits`. It needs scikit-learn.

A multilayer perceptron: 64 pixels, 128 hidden units with ReLU, 10 digits. It learns by gradient descent with momentum
on the cross entropy: 60 epochs, in batches of 32, in a second.
"""

from collections.abc import Mapping

import numpy as np

from ..ideas.safetensors import save
from .digits import DIGITS, IMAGES
from .pieces import random_bytes

HELD_OUT = 450  # of 1797 pictures: a quarter
HIDDEN, EPOCHS, BATCH = 128, 60, 32
RATE, MOMENTUM, DECAY = 0.1, 0.9, 1e-3
SEED = 0
ORIGIN = {
    "source": "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, 1998, "
    "UCI Machine Learning Repository, https://doi.org/10.24432/C50P49",
    "licence": "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
    "made by": "python -m helpers.make.train_digits",
}


def split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pictures (n, 8, 8) uint8 and labels (n,) uint8, to learn from and then held out. Always the same split."""
    from sklearn.datasets import load_digits  # comes with scikit-learn, downloads nothing

    found = load_digits()
    order = random_bytes(8 * len(found.target), SEED, "digits", 0).view("<u8").argsort(kind="stable")
    images, labels = found.images.astype(np.uint8)[order], found.target.astype(np.uint8)[order]
    return images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT]


def trained(images: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The weights, float32, after learning from pictures (n, 8, 8) and their digits (n,)."""
    random = np.random.default_rng(SEED)
    pixels = _pixels(images)
    wanted = np.eye(10, dtype=np.float32)[labels]
    shapes = {"hidden.weight": (HIDDEN, 64), "hidden.bias": (HIDDEN,), "out.weight": (10, HIDDEN), "out.bias": (10,)}
    weights = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    for name in ("hidden.weight", "out.weight"):  # He et al., 2015: keeps the variance from layer to layer
        weights[name] += random.normal(0, np.sqrt(2 / shapes[name][1]), shapes[name])
    speeds = {name: np.zeros_like(weight) for name, weight in weights.items()}
    for epoch in range(EPOCHS):
        order = random.permutation(len(pixels))
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            slopes = _slopes(weights, pixels[batch], wanted[batch])
            for name, weight in weights.items():
                speeds[name] *= MOMENTUM
                speeds[name] += slopes[name] + DECAY * weight
                weight -= RATE * (1 - epoch / EPOCHS) * speeds[name]
    return weights


def _slopes(weights: Mapping[str, np.ndarray], pixels: np.ndarray, wanted: np.ndarray) -> dict[str, np.ndarray]:
    """The gradient of the mean cross entropy for each weight."""
    hidden, scores = _layers(weights, pixels)
    likely = np.exp(scores - scores.max(1, keepdims=True))
    likely /= likely.sum(1, keepdims=True)
    out = (likely - wanted) / len(pixels)
    inner = out @ weights["out.weight"] * (hidden > 0)
    return {
        "hidden.weight": inner.T @ pixels,
        "hidden.bias": inner.sum(0),
        "out.weight": out.T @ hidden,
        "out.bias": out.sum(0),
    }


def _layers(weights: Mapping[str, np.ndarray], pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    hidden = np.maximum(pixels @ weights["hidden.weight"].T + weights["hidden.bias"], 0)
    return hidden, hidden @ weights["out.weight"].T + weights["out.bias"]


def _pixels(images: np.ndarray) -> np.ndarray:
    return images.reshape(-1, 64).astype(np.float32) / 16


def right(weights: Mapping[str, np.ndarray], images: np.ndarray, labels: np.ndarray) -> int:
    """How many pictures the model reads correctly."""
    return int((_layers(weights, _pixels(images))[1].argmax(1) == labels).sum())


def main() -> None:
    """Trains, writes both files, and prints the result."""
    images, labels, unseen, answers = split()
    weights = trained(images, labels)
    result = f"{right(weights, unseen, answers)} of {len(unseen)} held-out pictures right"
    DIGITS.parent.mkdir(exist_ok=True)
    save(weights, DIGITS, ORIGIN | {"trained on": f"{len(images)} of the pictures", "result": result})
    save({"images": unseen, "labels": answers}, IMAGES, ORIGIN | {"holds": f"{len(unseen)} held-out pictures"})
    print(result)


if __name__ == "__main__":
    main()
