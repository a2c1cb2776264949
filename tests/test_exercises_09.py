"""Lesson 09: other right answers are right, lazy ones are not, and what is recorded is what a server here shows."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from helpers.measure import maps, sampler
from helpers.teach import exercise
from helpers.teach.exercises import Attempt, Verdict
from helpers.teach.lessons import lesson_09
from helpers.units import MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SMALL = 16 * MiB
SERVED = """
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range(8):
            x = np.maximum(model[f"layers.{i}.weight"] @ x + model[f"layers.{i}.bias"], 0)
        answers.append(x)
    return answers
"""
RIGHT = {
    "09.serve, one model in float32 at a time": """def serve(paths, requests):
    import numpy as np
    from helpers.ideas.safetensors import open_tensors

    files = [open_tensors(path) for path in paths]
    answers, last, model = [], None, None
    for number, x in requests:
        if number != last:
            model = None
            model, last = {name: np.asarray(tensor, np.float32) for name, tensor in files[number].items()}, number
        for i in range(8):
            x = np.maximum(model[f"layers.{i}.weight"] @ x + model[f"layers.{i}.bias"], 0)
        answers.append(x)
    return tuple(answers)
""",
    "09.serve, a reader of its own": """def serve(paths, requests):
    import json
    import numpy as np

    def model(path):
        data = np.memmap(path, np.uint8, "r")
        begin = 8 + int.from_bytes(data[:8].tobytes(), "little")
        tensors = {}
        for name, entry in json.loads(data[8:begin].tobytes()).items():
            if name != "__metadata__":
                first, end = entry["data_offsets"]
                dtype = {"F16": np.float16, "F32": np.float32}[entry["dtype"]]
                tensors[name] = data[begin + first : begin + end].view(dtype).reshape(entry["shape"])
        return tensors

    models = [model(path) for path in paths]
"""
    + SERVED,
    "09.serve, a VarBuilder": """def serve(paths, requests):
    import numpy as np
    from helpers.ideas.varbuilder import VarBuilder

    models = [VarBuilder.from_mapped(path) for path in paths]
    answers = []
    for number, x in requests:
        for i in range(8):
            layer = models[number].prefix(f"layers.{i}")
            x = np.maximum(layer.get((x.size, x.size), "weight") @ x + layer.get((x.size,), "bias"), 0)
        answers.append(x)
    return answers
""",
    "09.snapshot, a header of numpy's": """class Damaged(ValueError):
    pass

def load(path):
    import zlib
    import numpy as np

    fields = [("magic", "S8"), ("version", "<u4"), ("order", "<u4"), ("first", "<u8"), ("count", "<u8"), ("crc", "<u4")]
    data = np.memmap(path, np.uint8, "r")
    if data.size < 40:
        raise Damaged("too short")
    header = data[:36].view(fields)[0]
    first, count = int(header["first"]), int(header["count"])
    if header["crc"] != zlib.crc32(data[:32]) or first < 40 or first % 8 or first + 8 * count != data.size:
        raise Damaged("damaged")
    if header["magic"] != b"SNAPSHOT" or header["version"] != 1 or header["order"] != 0x01020304:
        raise Damaged("foreign")
    return data[first:].view(np.float64)
""",
    "09.six, the file's pages by the peak": """def explain(size, before, after):
    import numpy as np
    was, now = before["processes"], after["processes"]
    own = sum(a["RssAnon"] - b["RssAnon"] for b, a in zip(was, now))
    gone = sum(a["VmHWM"] - a["RssAnon"] - a["RssFile"] for a in now)
    if len(now) == 1:
        needed = now[0]["VmHWM"] - was[0]["RssAnon"] - was[0]["RssFile"]
    else:
        needed = own + gone + sum(a["Pss_File"] - b["Pss_File"] for b, a in zip(was, now))
    if own > needed / 2:
        word = "copied"
    else:
        word = "evicted" if gone > 2**23 else "part" if needed < size / 2 else "cached"
    return [np.int64(needed), np.str_(word)]
""",
}
LAZY = {
    "09.serve, in float16 at the end": (
        lesson_09.SERVE.solution_source.replace("answers.append(x)", "answers.append(x.astype('f2'))"),
        "Three digits are right",
    ),
    "09.serve, each vector as it came": (
        "def serve(paths, requests):\n    return [x for _, x in requests]\n",
        "not the",
    ),
    "09.serve, the first model for all": (
        lesson_09.SERVE.solution_source.replace("models[number]", "models[0]"),
        "Which model does the request name",
    ),
    "09.snapshot, everything is refused": ("def load(path):\n    raise ValueError(path)\n", "nothing is wrong"),
    "09.snapshot, whatever goes wrong is a ValueError": (
        lesson_09.SNAPSHOT.starter.replace("def load", "def _load")
        + """
def load(path):
    try:
        return _load(path)
    except Exception as error:
        raise ValueError(path) from error
""",
        "a file that has another magic",
    ),
    "09.six, the size of the model": (
        'def explain(size, before, after):\n    return size, "cached"\n',
        "maps a model of eight experts|reads the model",
    ),
    "09.six, a number alone": ("def explain(size, before, after):\n    return size\n", "Return two things"),
}


def checked(key: str, source: str) -> Verdict:
    one = exercise(key.partition(",")[0])
    return one.check(one.made(source), size=SMALL)


@pytest.mark.parametrize("way", RIGHT)
def test_other_right_answers_are_right(way: str):
    verdict = checked(way, RIGHT[way])
    assert verdict.outcome == "right", repr(verdict)


@pytest.mark.parametrize("way", LAZY)
def test_lazy_answers_are_not(way: str):
    source, message = LAZY[way]
    verdict = checked(way, source)
    assert verdict.outcome == "not yet"
    assert any(part in verdict.because for part in message.split("|")), verdict.because


# --- 09.serve -------------------------------------------------------------------------------------------------
def test_the_requests_ask_every_model_equally_often_and_the_files_are_in_no_order(tmp_path: Path):
    orders = set()
    for round in range(8):
        folder = tmp_path / str(round)
        folder.mkdir()
        paths, requests, wanted = lesson_09.models(Attempt(None, MiB // 4, 20, folder))
        orders.add(tuple(path.stat().st_size for path in paths))
        assert set(Counter(number for number, _ in requests).values()) == {lesson_09.ROUNDS}
        assert len(wanted) == len(requests) and all(0.1 < answer.max() < 100 for answer in wanted)
    assert len(orders) > 1


# --- 09.snapshot ----------------------------------------------------------------------------------------------
def test_every_bad_snapshot_is_bad_wherever_it_is_damaged(tmp_path: Path):
    load = lesson_09.SNAPSHOT.made(lesson_09.LOAD)
    path = tmp_path / "snapshot.bin"
    for numbers in lesson_09.good_numbers(8 * 1024):
        path.write_bytes(lesson_09.snapshot(numbers, 48))
        assert np.array_equal(load(path), numbers)
    for _ in range(50):
        for kind, content in zip(lesson_09.REFUSED, lesson_09.bad_snapshots(), strict=True):
            path.write_bytes(content)
            with pytest.raises(ValueError):
                pytest.fail(f"{kind}: {load(path)}")


def test_a_refusal_says_which_file_without_its_folder():
    source = lesson_09.LOAD.replace("first < 40", "first != 40")
    because = checked("09.snapshot", source).because
    assert re.search(r"`ValueError: \d+\.bin: ", because)


# --- 09.six ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module", params=["live", "recorded"])
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple]:
    if request.param == "recorded":
        return {kind: (64 * MiB, *moments) for kind, moments in lesson_09.RECORDED.items()}
    if maps.why_not():
        pytest.skip("no /proc here")
    return lesson_09.live_servers(Attempt(None, 0, 20, tmp_path_factory.mktemp("servers")))


MEANT = {"maps": (1, "cached"), "reads": (1, "copied"), "experts": (1 / 8, "part"), "two": (1, "cached")}
MEANT |= {"loses": (1, "evicted")}


def test_what_is_called_right_is_what_the_servers_did(servers: dict[str, tuple]):
    assert set(servers) == set(lesson_09.SERVERS) == set(MEANT)
    for kind, case in servers.items():
        needed, word = lesson_09.right(*case)
        assert word == MEANT[kind][1], kind
        assert needed == pytest.approx(MEANT[kind][0] * case[0], abs=lesson_09.ABOUT), kind


def test_where_they_cannot_be_run_recorded_ones_are_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lesson_09, "live_servers", lambda _: {})
    verdict = checked("09.six", lesson_09.SIX.solution_source)
    assert verdict.outcome == "right" and "recorded on another machine" in verdict.because


def test_wrong_answers_meet_their_messages_on_recorded_servers_too():
    for source, message in lesson_09.SIX.wrong:
        explain = lesson_09.SIX.made(source)
        cases = [(64 * MiB, *moments) for moments in lesson_09.RECORDED.values()]
        told = [lesson_09.misread(explain(*case), *case) for case in cases]
        assert message in next(filter(None, told))


# --- a machine that shows less --------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["09.serve", "09.snapshot"])
def test_where_no_kinds_of_memory_are_told_apart_the_heap_counter_stands_in(key: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    verdict = checked(key, exercise(key).solution_source)
    assert verdict.outcome == "right" and "not measured here" in verdict.because


def test_the_heap_counter_tells_on_models_that_are_copied(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    verdict = checked("09.serve", lesson_09.SERVE.wrong[1][0])
    assert verdict.outcome == "not yet" and "the heap alone took" in verdict.because
