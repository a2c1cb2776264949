"""A server under load: the requests and what's counted, the class Load, its chart, and models told
apart by answers.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from pictures import arrows, assert_fits, panels

from helpers.ideas.safetensors import TensorFile
from helpers.lessons.serving.load import growth, load_chart, watched
from helpers.lessons.serving.program import program
from helpers.make import DIGITS, digit_model, digits
from helpers.measure import sampler
from helpers.measure.load import Load, Look, Tick
from helpers.measure.machine import here
from helpers.serve import serve
from helpers.serve.client import ask, asking, metrics, put
from helpers.serve.digits import BACKENDS
from helpers.teach import recorded
from helpers.units import MiB

IMAGES, LABELS = digits()
TEN = np.stack([IMAGES[digit == LABELS][0] for digit in range(10)]).reshape(-1, 64)
forks = pytest.mark.skipif(os.name == "nt", reason="the server forks its workers")
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells it")


# --- models whose answers tell them apart ---------------------------------------------------------
def reads(path: Path) -> list[int]:
    with BACKENDS["mapped"](path) as model:
        return model.read(TEN).tolist()


@pytest.mark.parametrize("size", [0, "1 MiB"])
def test_a_model_reads_its_shift_whatever_its_size(tmp_path: Path, size: int | str):
    for shift in (0, 3, 9):
        path = digit_model(tmp_path / "m", shift, size)
        assert reads(path) == [(digit + shift) % 10 for digit in range(10)]
    with TensorFile(path) as file, TensorFile(DIGITS) as original:
        assert file["out.bias"].tolist() == [*original["out.bias"][1:], original["out.bias"][0]]
    assert abs(path.stat().st_size - (MiB if size else DIGITS.stat().st_size)) < 1000


def test_half_of_one_version_and_half_of_another_are_no_model(tmp_path: Path):
    files = [digit_model(tmp_path / f"{shift}", shift, "1 MiB").read_bytes() for shift in (0, 1)]
    half = len(files[0]) // 2
    (tmp_path / "torn").write_bytes(files[1][:half] + files[0][half:])
    assert reads(tmp_path / "torn") not in [reads(tmp_path / "0"), reads(tmp_path / "1")]


# --- the class ------------------------------------------------------------------------------------
def a_load() -> Load:
    load = Load(here(None))
    load.ticks += [Tick(0.1 * n, 0.1, 20 + n, int(n == 4), 0.01 * n or None) for n in range(1, 9)]
    load.looks += [
        Look(0.1, 100 * MiB, 8 * MiB, 4),
        Look(0.5, 103 * MiB, 16 * MiB, 5, ("SIGBUS",)),
    ]
    load.marks.append((0.3, "first"))
    load.seen.update({("a", "[1, 2]"): 7, ("b", "[3, 4]"): 2, ("c", "[3, 4]"): 1})
    load.refused["503"] += 1
    load.right |= {"a": [1, 2], "b": [3, 5]}
    load.notes["kept"] = [1]
    return load


def test_a_load_counts():
    load = a_load()
    assert (load.answers, load.failed, load.died, load.ended) == (196, 1, 1, {"SIGBUS"})
    assert load.versions == {"a", "b", "c"}
    assert load.torn == {
        ("b", "[3, 4]"): 2,
        ("c", "[3, 4]"): 1,
    }, "other digits than that version's, or no such version"


def test_a_load_keeps_pace_or_not():
    ticks = [Tick(0.1 * n, 0.1, n * n, 0, 0.01 * n * n) for n in range(1, 10)]
    load = Load(here(None), ticks=ticks, marks=[(0.35, "swap")])
    assert load.pace(marked=True) == pytest.approx((190 / 0.5, 0.36)), "ticks 4 to 8"
    assert load.pace(marked=False) == pytest.approx((81 / 0.1, 0.81)), (
        "tick 9; 1 to 3 were before it began"
    )
    load.ticks[4:6] = [Tick(0.5, 0.1, 5, 1, None), Tick(0.6, 0.1, 4, 0, 0.9)]
    assert load.pace(marked=True) == pytest.approx((138 / 0.5, 0.565)), (
        "a tick without answers has no slowest"
    )
    load.marks.clear()
    assert all(map(isnan, load.pace(marked=True)))


def test_a_load_comes_back_from_json():
    load = a_load()
    again = Load.from_json(json.loads(json.dumps(load.to_json())))
    for name in ("ticks", "looks", "marks", "seen", "refused", "right", "notes", "machine"):
        assert getattr(again, name) == getattr(load, name), name
    with pytest.raises(ValueError, match="zero-copy load"):
        Load.from_json({"format": "zero-copy recording", "version": 1})


def test_where_memory_is_not_told_a_recorded_load_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setattr("helpers.folders.RECORDED", tmp_path)
    (tmp_path / "x.json").write_text(json.dumps(a_load().to_json()))
    blind = a_load()
    blind.looks = [Look(0.1, None, None)]
    assert blind.missing == ("anonymous", "file")
    assert a_load().missing == ()
    assert recorded("x", blind).looks == a_load().looks
    assert "Recorded figures, made on:" in capsys.readouterr().out
    assert recorded("x", mine := a_load()) is mine


# --- the chart ------------------------------------------------------------------------------------
def test_the_chart_says_its_numbers():
    shown = load_chart(a_load(), "Try.")
    assert (
        shown.alt
        == "A server under load for 1 s: 196 answers; 1 failed. Answers per second: a median of "
        "250, from 210 to 280. Done to the server: first at 0.3 s. The models' files: 8 MiB to "
        "16 MiB. Taken by all workers since the beginning: 3 MiB at most."
    )
    above, below = panels(shown)
    assert len(above.lines[0].get_xdata()) == 8
    assert [text.get_text() for text in above.texts] == ["first"]
    assert [line.get_marker() for line in above.lines].count("x") == 1
    assert len(below.collections) == 2
    assert below.get_ylim()[1] > 19 * MiB
    assert shown.caption.startswith("Try. Measured on")
    assert shown.png.startswith(b"\x89PNG")


def test_the_chart_of_a_first_moment_and_of_a_system_that_tells_no_memory():
    load = a_load()
    del load.ticks[1:], load.looks[:], load.marks[:]
    assert "not measured here" in [text.get_text() for text in panels(load_chart(load))[1].texts]
    load.ticks.clear()
    with pytest.raises(ValueError, match="nobody has asked yet"):
        load_chart(load)


def test_a_watched_load_is_drawn_while_it_grows_and_cleared_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
):
    told: list[str] = []
    monkeypatch.setattr("IPython.display.display", lambda shown: told.append(type(shown).__name__))
    monkeypatch.setattr("IPython.display.clear_output", lambda wait: told.append("clear"))
    loads = [Load(here(None)), *[a_load()] * 6]
    assert list(watched(loads)) == loads, "each is passed on"
    assert told == ["clear", "Picture"] * 2 + ["clear"], (
        "nothing yet, then every third, then nothing"
    )


# --- the requests ---------------------------------------------------------------------------------
@forks
def test_every_answer_is_counted_and_names_its_version(tmp_path: Path):
    digit_model(tmp_path / "m")
    with serve(tmp_path, workers=2) as server:
        version = ask(server.address, "POST", "/models/m/answers", TEN.tobytes()).json["version"]
        *earlier, load = asking(server.address, "m", TEN, looks=3)
        said = metrics(server.address)["together"]["answers"]
    load.right[version] = [*range(10)]
    assert len(earlier) == 3, "the last tick is followed by a few answers more"
    assert 0 < load.answers < said, "the last tick is followed by a few answers more"
    assert load.answers == sum(load.seen.values())
    assert load.versions == {version}
    assert not load.failed
    assert not load.torn
    assert not load.died
    if sys.platform == "linux":
        assert load.looks[-1].file == (tmp_path / "m").stat().st_size // 4096 * 4096 + 4096


@contextmanager
def stub(answers: list[bytes]) -> Iterator[str]:
    """A server that answers POST with these, in turn, over and over. b"short" breaks off, b""
    closes the connection, and b"slow" comes after a second.
    """
    turn = iter(range(10**9))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            row = {"anonymous": None, "mapped pss": None, "starts": 1, "ended by": None}
            self.tell(200, json.dumps({"together": row, "workers": [row]}).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = answers[next(turn) % len(answers)]
            time.sleep(body == b"slow")
            if body:
                self.tell(503 if body == b"busy" else 200, body, more=body == b"short")
            self.close_connection = body in (b"", b"short")

        def tell(self, status: int, body: bytes, more: int = 0) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) + more))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield "{}:{}".format(*server.server_address)
        finally:
            server.shutdown()


def test_what_fails_is_counted_by_its_reason_and_the_asking_goes_on():
    good = json.dumps({"version": "v", "digits": [1, 2]}).encode()
    with stub([b"busy", b"", b"short", good, good]) as address:
        *_, load = asking(address, "m", TEN, looks=3)
    assert set(load.refused) == {"503", "connection lost"}
    assert load.failed == sum(load.refused.values())
    assert load.seen == Counter({("v", "[1, 2]"): load.answers})
    assert load.answers > 4
    assert load.missing == ("anonymous", "file")


def test_the_asking_ends_with_whoever_wanted_it():
    with stub([json.dumps({"version": "v", "digits": [1]}).encode()]) as address:
        loads = asking(address, "m", TEN, looks=100)
        next(loads)
        process = loads.gi_frame.f_locals["process"]
        assert process.poll() is None
        loads.close()
        assert process.poll() is not None


@forks
def test_put_says_what_became_of_the_file(tmp_path: Path):
    (models := tmp_path / "models").mkdir()
    with serve(models, workers=1) as server:
        done = put(server.address, "m", digit_model(tmp_path / "m", 2))
        (tmp_path / "bad").write_bytes(b"no model at all")
        refused = put(server.address, "m", tmp_path / "bad")
        read = ask(server.address, "POST", "/models/m/answers", TEN.tobytes()).json
        as_json = ask(server.address, "PUT", "/models/m/tenants/t", {"out.bias": [0.0] * 10})
    assert (done.status, refused.status, as_json.status) == (201, 422, 201)
    assert refused.json["rule"]
    assert read == {"version": done.json["version"], "digits": [2, 3, 4, 5, 6, 7, 8, 9, 0, 1]}


# --- memory of processes that run already ---------------------------------------------------------
HOLDER = """
print(flush=True)
input()
held = b"x" * (32 << 20)
print(flush=True)
input()
"""


@pytest.mark.measured
@linux
def test_growth_sees_the_peak_of_all_the_processes():
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=-1, stdout=-1, text=True
    ) as process:
        process.stdout.readline()
        with growth([process.pid, os.getpid()]) as grown:
            print(file=process.stdin, flush=True)
            process.stdout.readline()
        assert 28 * MiB < grown.anonymous < 40 * MiB, (
            "and what this process takes or frees meanwhile"
        )
        with growth([process.pid]) as later:
            pass
        assert later.anonymous < MiB
        process.kill()


def test_growth_is_none_where_kinds_are_not_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("helpers.measure.sampler.choose", lambda: sampler.Portable)
    with growth([os.getpid()]) as grown:
        pass
    assert grown.anonymous is None


def test_the_server_sets_its_threads_before_numpy_is_there():
    """OpenBLAS reads its number of threads when it's loaded, and its threads don't survive a
    fork.
    """
    code = "import helpers.serve, sys; print('numpy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "False\n"
    )


def test_the_program_is_drawn_from_what_the_server_says():
    workers = [{"pid": 20 + n, "answers": n, "versions": int(n > 1)} for n in range(4)]
    shown = program({"address": "127.0.0.1:8000", "watcher": 19, "workers": workers})
    assert "process 19 forks the workers, and 127.0.0.1:8000 leads to them" in shown.alt
    assert "worker 21 has given 1 answer, worker 22 has given 2 answers, maps" in shown.alt
    assert len(arrows(shown)) == 4 + 4 + 4 + 2, "two workers have nothing mapped"
    assert_fits(shown)
