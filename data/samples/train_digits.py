"""Makes the two files beside it, for `helpers.make.digits`. It needs scikit-learn. A multilayer
perceptron: 64 pixels, 128 hidden units with ReLU, 10 digits. It learns by gradient descent with
momentum on the cross entropy, in batches of 32, until that stops falling: about 60 epochs, in
seconds.
"""

from pathlib import Path

import numpy as np

from helpers.ideas.safetensors import save
from helpers.make.digits import DIGITS, IMAGES
from helpers.make.pieces import random_bytes

BESIDE = Path(__file__).parent
HELD_OUT = 450  # of 1797 pictures: a quarter
SEED = 0
ORIGIN = {
    "source": "Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, 1998, "
    "UCI Machine Learning Repository, https://doi.org/10.24432/C50P49",
    "licence": "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
    "made by": "python data/samples/train_digits.py",
}


def split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pictures (n, 8, 8) uint8 and labels (n,) uint8, to learn from and then held out. Always the
    same split.
    """
    from sklearn.datasets import load_digits  # comes with scikit-learn, downloads nothing

    samples = load_digits()
    order = (
        random_bytes(8 * len(samples.target), SEED, "digits", 0).view("<u8").argsort(kind="stable")
    )
    images, labels = samples.images.astype(np.uint8)[order], samples.target.astype(np.uint8)[order]
    return images[HELD_OUT:], labels[HELD_OUT:], images[:HELD_OUT], labels[:HELD_OUT]


def main() -> None:
    from sklearn.neural_network import MLPClassifier

    images, labels, unseen, answers = split()
    model = MLPClassifier(
        (128,), solver="sgd", batch_size=32, learning_rate_init=0.1, alpha=1e-3, random_state=SEED
    )
    model.fit(_pixels(images), labels)
    (hidden, out), (hidden_bias, out_bias) = model.coefs_, model.intercepts_
    weights = {
        "hidden.weight": hidden.T,
        "hidden.bias": hidden_bias,
        "out.weight": out.T,
        "out.bias": out_bias,
    }
    right = int((model.predict(_pixels(unseen)) == answers).sum())
    result = f"{right} of {len(unseen)} held-out pictures right"
    facts = ORIGIN | {"trained on": f"{len(images)} of the pictures", "result": result}
    save(
        {name: np.ascontiguousarray(weight) for name, weight in weights.items()},
        BESIDE / DIGITS.name,
        facts,
    )
    held_out = {"images": unseen, "labels": answers}
    save(held_out, BESIDE / IMAGES.name, ORIGIN | {"holds": f"{len(unseen)} held-out pictures"})
    print(result)


def _pixels(images: np.ndarray) -> np.ndarray:
    return images.reshape(-1, 64).astype(np.float32) / 16


if __name__ == "__main__":
    main()
