"""PyTorch's tensors as holders of a file. PyTorch is optional: `make record` needs it, and most
machines lack it.
"""

from pathlib import Path

import numpy as np
import pytest

from helpers.ideas.safetensors import save
from helpers.measure import who_holds

torch = pytest.importorskip("torch")
load_file = pytest.importorskip("safetensors.torch").load_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save({"weight": np.ones((64, 64), "f4")}, tmp_path / "w.safetensors")
    return tmp_path / "w.safetensors"


def test_a_parameter_is_found_in_its_model_and_its_optimiser(path: Path) -> None:
    model = torch.nn.Linear(64, 64, bias=False)
    model.weight = torch.nn.Parameter(load_file(path)["weight"])
    optimiser = torch.optim.SGD(model.parameters())
    names = {chain.name for chain in who_holds(path).chains}
    assert names == {"model._parameters['weight']", "optimiser.param_groups[0]['params'][0]"}
    del model, optimiser
    assert who_holds(path).mapped == 0


def test_a_loss_holds_it_under_no_name(path: Path) -> None:
    loss = torch.nn.Parameter(load_file(path)["weight"]).sum()
    held = who_holds(path)
    assert held.mapped
    assert [chain.name for chain in held.chains] == [""]
    assert loss.grad_fn is not None
    del loss
    assert not who_holds(path).mapped


def test_a_mapped_tensor_and_its_views(path: Path) -> None:
    whole = torch.from_file(str(path), shared=False, size=500)
    kept = [whole[5:].view(5, 99), whole.numpy()]
    found = [who_holds(path), who_holds(whole), who_holds(kept[0])]
    assert [{chain.name for chain in held.chains} for held in found] == [
        {"whole", "kept[0]", "kept[1]"}
    ] * 3


def test_a_copy_does_not_hold_it(path: Path) -> None:
    kept = load_file(path)["weight"].clone()
    assert not who_holds(path).mapped
    assert len(kept) == 64
