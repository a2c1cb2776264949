"""The committed model reads the committed pictures, and wasn't trained on any of them."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from helpers.folders import DATA
from helpers.ideas.safetensors import TensorFile
from helpers.make import DIGITS, digits
from helpers.make.digits import IMAGES

LEAST = 0.97


@pytest.fixture
def train_digits(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(DATA / "samples")
    return import_module("train_digits")


def test_the_committed_model_reads_the_committed_pictures():
    """Its arithmetic written out, as in a lesson, with the other reader."""
    images, labels = digits()
    assert images.shape == (len(labels), 8, 8)
    assert images.dtype == labels.dtype == np.uint8
    assert images.min() == 0
    assert images.max() == 16
    assert set(labels) == set(range(10))
    assert len(labels) >= 400
    with TensorFile(DIGITS) as model:
        assert {name: model[name].dtype for name in model} == dict.fromkeys(model, np.float32)
        hidden = np.maximum(
            images.reshape(-1, 64) / 16 @ model["hidden.weight"].T + model["hidden.bias"], 0
        )
        found = (hidden @ model["out.weight"].T + model["out.bias"]).argmax(1)
        right = int((found == labels).sum())
        assert right >= LEAST * len(labels)
        assert model.metadata["result"] == f"{right} of {len(labels)} held-out pictures right"
    readme = " ".join((DATA / "samples" / "README.md").read_text(encoding="utf-8").split())
    assert f"{right} of the {len(labels)} right" in readme


def test_the_pictures_are_those_that_the_file_holds():
    images, labels = digits()
    with TensorFile(IMAGES) as held:
        assert np.array_equal(held["images"], images)
        assert np.array_equal(held["labels"], labels)
        assert "CC BY 4.0" in held.metadata["licence"]
        assert "10.24432/C50P49" in held.metadata["source"]


def test_the_samples_are_small_and_legal():
    safetensors = pytest.importorskip("safetensors")
    files = sorted((DATA / "samples").glob("*.safetensors"))
    assert [file.name for file in files] == ["digits-test.safetensors", "digits.safetensors"]
    assert sum(file.stat().st_size for file in files) < 2**20
    for file in files:
        safetensors.deserialize(file.read_bytes())


def test_what_it_learned_from_and_what_it_is_asked_do_not_overlap(train_digits: ModuleType):
    images, labels, unseen, answers = train_digits.split()
    known, held_out = ({image.tobytes() for image in each} for each in (images, digits()[0]))
    assert len(known) + len(held_out) == len(images) + len(unseen) == 1797
    assert not known & held_out
    assert np.array_equal(unseen, digits()[0])
    assert np.array_equal(answers, digits()[1])
    assert len(labels) == len(images)


def test_training_again_makes_such_a_model(
    train_digits: ModuleType, tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.setattr(train_digits, "BESIDE", tmp_path)
    train_digits.main()
    with TensorFile(tmp_path / DIGITS.name) as made, TensorFile(DIGITS) as committed:
        weights = {name: np.array(made[name]) for name in made}
        shapes = {name: array.shape for name, array in committed.items()}
        said = made.metadata["result"]
    images, labels = digits()
    hidden = np.maximum(
        images.reshape(-1, 64) / 16 @ weights["hidden.weight"].T + weights["hidden.bias"], 0
    )
    right = int(
        ((hidden @ weights["out.weight"].T + weights["out.bias"]).argmax(1) == labels).sum()
    )
    assert (
        capsys.readouterr().out.strip()
        == said
        == f"{right} of {len(labels)} held-out pictures right"
    )
    assert right >= LEAST * len(labels)
    assert {name: array.shape for name, array in weights.items()} == shapes
    with TensorFile(tmp_path / IMAGES.name) as made:
        assert np.array_equal(made["images"], images)
