"""Lesson 09's checks: requests alternate, every bad snapshot is bad, and what's called right is
what servers did.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from helpers.measure import maps
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import NotYet
from helpers.units import KiB, MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

serve, snapshot, six = (
    check(exercise(key).folder) for key in ("09.serve", "09.snapshot", "09.six")
)


def test_requests_ask_every_model_equally_often_and_the_files_are_in_no_order(tmp_path: Path):
    orders = set()
    for round in range(8):
        (folder := tmp_path / str(round)).mkdir()
        paths, requests, wanted = serve.models(folder, MiB // 4)
        orders.add(tuple(path.stat().st_size for path in paths))
        assert set(Counter(number for number, _ in requests).values()) == {serve.ROUNDS}
        assert len(wanted) == len(requests)
        assert all(0.1 < answer.max() < 100 for answer in wanted)
    assert len(orders) > 1


def test_every_bad_snapshot_is_bad_wherever_it_is_damaged(tmp_path: Path):
    one = exercise("09.snapshot")
    load = one.made(one.solution_source)
    path = tmp_path / "snapshot.bin"
    for first, numbers in snapshot.good_snapshots(8 * KiB).items():
        path.write_bytes(snapshot.snapshot(numbers, first))
        assert np.array_equal(load(path), numbers)
    for _ in range(50):
        for what, content in snapshot.bad_snapshots().items():
            path.write_bytes(content)
            with pytest.raises(ValueError):
                pytest.fail(f"{what}: {load(path)}")


def test_a_files_name_says_nothing_about_what_is_wrong_with_it(tmp_path: Path):
    paths = [tmp_path / f"{name}.bin" for name in (7, 17, 27, 37)]
    ends = {
        what: ("refused", f"{path} is damaged")
        for what, path in zip(snapshot.FAR_APART, paths[1:], strict=True)
    }
    with pytest.raises(NotYet, match="and the same for a file"):
        snapshot.refused(ends, paths)


@pytest.mark.parametrize("where", ["here", "recorded"])
def test_what_is_called_right_is_what_the_servers_did(where: str, data: Path):
    if where == "here" and maps.why_not():
        pytest.skip("no /proc here")
    servers = six.live(data) if where == "here" else six.recorded()
    assert set(servers) == set(six.SERVERS) == set(six.CAUSE)
    one = exercise("09.six")
    explain = one.made(one.solution_source)
    for kind, (needed, case) in servers.items():
        assert explain(*case) == (pytest.approx(needed, abs=six.ABOUT / 2), six.CAUSE[kind]), kind


@pytest.mark.parametrize("answer", exercise("09.six").wrong, ids=lambda answer: answer.name)
def test_wrong_answers_meet_their_causes_on_recorded_servers_too(answer):
    explain = exercise("09.six").made(answer.source)
    with pytest.raises(NotYet) as slip:
        for kind, (needed, case) in six.recorded().items():
            six.misread(explain(*case), (needed, six.CAUSE[kind]), *case)
    assert slip.value.cause == answer.expect
