"""What a call costs: every case, every Python that runs, and an order that's the same on every
machine.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from helpers.lessons.dispatch.calls import VERSIONS, call_costs, costs_by_version, mix_costs
from helpers.lessons.dispatch.calls_child import backend, functions
from helpers.measure import NotMeasuredHere

THIS = "{}.{}".format(*sys.version_info)
CASES = [
    "loop alone",
    "a function",
    "a function, annotated",
    "a method, 1 type",
    "a method, 2 types",
    "a method, 64 types",
    "getattr",
    "dict of functions, 1 type",
    "dict of functions, 64 types",
    "singledispatch",
    "isinstance, runtime protocol",
    "isinstance, the answer is no",
]


@pytest.mark.measured
def test_what_calls_cost(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    costs = call_costs()
    assert list(costs) == CASES
    assert all(0 < seconds < 1e-3 for seconds in costs.values())
    assert costs["loop alone"] < costs["a method, 1 type"] < costs["singledispatch"]
    assert costs["isinstance, runtime protocol"] > 2 * costs["a method, 1 type"]
    assert costs["a function, annotated"] < 1.5 * costs["a function"]
    assert costs["a method, 2 types"] > costs["loop alone"] < costs["a function"]
    assert costs["isinstance, the answer is no"] > 1.3 * costs["isinstance, runtime protocol"]


def test_a_table_has_a_function_for_each_type():
    table = functions([backend() for _ in range(64)])
    assert len({id(function.__code__) for function in table.values()}) == 64


@pytest.mark.skipif(os.name == "nt", reason="shell scripts stand in for Pythons")
def test_every_version_is_measured_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def stand_in(folder: str, version: str, script: str) -> None:
        path = tmp_path / folder / f"python{version}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    others = [version for version in VERSIONS if version != THIS]
    for version in others:
        stand_in("broken", version, "exit 127")
        stand_in("talks", version, "echo hello")
        stand_in("another", version, f'exec "{sys.executable}" "$@"')
    folders = [
        "",
        ".",
        *(str(tmp_path / folder) for folder in ("broken", "talks", "another", "right")),
    ]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    stand_in("right", THIS, f'exec "{sys.executable}" "$@"')
    with pytest.raises(
        NotMeasuredHere, match=f"there is no Python {', '.join(others)} on the PATH"
    ):
        costs_by_version()
    costs = dict.fromkeys(CASES, 1e-8)
    for version in others:
        asked_who = (
            f"case $3 in -c) echo cpython {version} ;; *) echo '{json.dumps(costs)}' ;; esac"
        )
        stand_in("right", version, asked_who)
    run = costs_by_version()
    assert run.ended == "returned"
    assert list(run.value) == list(VERSIONS)
    assert {version: run.value[version] for version in others} == dict.fromkeys(others, costs)
    assert list(run.value[THIS]) == CASES


def test_a_python_that_cannot_run_them_says_why():
    with pytest.raises(RuntimeError, match=r"/nowhere measured no calls: it said .*No such file"):
        call_costs(python="/nowhere")


@pytest.mark.measured
def test_two_types_cost_more_shuffled_than_sorted():
    mixes = mix_costs(rounds=3)
    assert list(mixes) == [f"{share} %" for share in range(0, 101, 10)]
    assert all(list(costs) == ["shuffled", "sorted by type"] for costs in mixes.values())
    one_type = min([*mixes["0 %"].values(), *mixes["100 %"].values()])
    middle = [mixes[f"{share} %"] for share in range(20, 81, 10)]
    shuffled, in_order = (
        median(each[order] for each in middle) for order in ("shuffled", "sorted by type")
    )
    assert shuffled > 1.1 * one_type
    assert shuffled > in_order


@pytest.mark.parametrize("asked", [call_costs, mix_costs])
def test_no_rounds(asked: Callable):
    with pytest.raises(ValueError, match="rounds=0"):
        asked(rounds=0)
