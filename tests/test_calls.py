"""What a call costs: every case, every Python that runs, and an order that's the same on every machine."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from helpers.lessons.dispatch.calls import call_costs, mix_costs

THIS = "{}.{}".format(*sys.version_info)
OTHER = "3.12" if THIS != "3.12" else "3.13"
CASES = [
    "loop alone", "a function", "a function, annotated", "a method, 1 type", "a method, 2 types", "a method, 64 types",
    "getattr", "dict of functions", "singledispatch", "isinstance, runtime protocol",
]  # fmt: skip


@pytest.mark.measured
def test_what_calls_cost(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    ((version, costs),) = call_costs().items()
    assert version == THIS and list(costs) == CASES and all(0 < seconds < 1e-3 for seconds in costs.values())
    assert costs["loop alone"] < costs["a method, 1 type"] < costs["singledispatch"]
    assert costs["isinstance, runtime protocol"] > 2 * costs["a method, 1 type"]
    assert costs["a function, annotated"] < 1.5 * costs["a function"]
    assert costs["a method, 2 types"] > costs["loop alone"] < costs["a function"]


@pytest.mark.skipif(os.name == "nt", reason="shell scripts stand in for Pythons")
def test_only_a_python_of_that_version_that_runs_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = f"python{OTHER}"
    scripts = {"broken": "exit 127", "talks": "echo hello", "another": f'exec "{sys.executable}" "$@"'}
    for folder, script in scripts.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", *(str(tmp_path / folder) for folder in scripts)]))
    assert list(call_costs(rounds=1)) == [THIS]
    report = {"python": OTHER, "implementation": "cpython", "costs": dict.fromkeys(CASES, 1e-8)}
    (tmp_path / "another" / name).write_text(f"#!/bin/sh\necho '{json.dumps(report)}'\n")  # as such a Python would
    assert call_costs(rounds=1)[OTHER] == dict.fromkeys(CASES, 1e-8)


def test_two_types_cost_more_shuffled_than_sorted():
    mixes = mix_costs(rounds=3)
    assert list(mixes) == [f"{share} %" for share in range(0, 101, 10)]
    assert all(list(costs) == ["shuffled", "sorted by type"] for costs in mixes.values())
    one_type = min([*mixes["0 %"].values(), *mixes["100 %"].values()])
    middle = [mixes[f"{share} %"] for share in range(20, 81, 10)]
    shuffled, in_order = (median(each[order] for each in middle) for order in ("shuffled", "sorted by type"))
    assert shuffled > 1.1 * one_type and shuffled > in_order


@pytest.mark.parametrize("asked", [call_costs, mix_costs])
def test_no_rounds(asked: Callable):
    with pytest.raises(ValueError, match="rounds=0"):
        asked(rounds=0)
