"""The model server refuses bad requests, and survives when its processes are killed."""

import asyncio
import errno
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from serving import (
    PICTURES,
    ask,
    begun,
    expected,
    model,
    part,
    put,
    raw,
    read,
    sha,
    unfinished,
    until,
)
from tables import each_of

from helpers.folders import ROOT
from helpers.ideas.safetensors import save
from helpers.serve import Running, serve
from helpers.serve.supervisor import RESTART_PAUSE_S
from helpers.serve.uploads import STALE_S, receive
from helpers.serve.validation import Part, Refused

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the server forks its workers"),
]
OWN_DISK = (
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "sh",
    "-c",
    'mount -t tmpfs -o size=1m none "$0" && exec "$@"',
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("models")
    (folder / "m").write_bytes(model(folder.parent, 1))
    with serve(folder, workers=2) as running:
        yield running
        assert not unfinished(folder), "something was refused, and stayed"


@pytest.fixture
def at(server: Running) -> Iterator[str]:
    yield server.address
    assert read(server.address).json["digits"] == expected(1), "the old model no longer answers"


# --- refusals -------------------------------------------------------------------------------------
def test_a_damaged_file_is_refused_with_its_rule(at: str, tmp_path: Path):
    good = model(tmp_path, 2)
    without = tmp_path / "without"
    shaped = tmp_path / "shaped"
    save({"hidden.weight": PICTURES.astype("f4")}, without)
    save(
        {
            name: PICTURES.astype("f4")
            for name in ("hidden.weight", "hidden.bias", "out.weight", "out.bias")
        },
        shaped,
    )
    for data, rule in (
        (b"x", "too short"),
        (b"\xff" * 8 + good[8:], "header too long"),
        (good[:-4], "file length"),
        (good[:8] + b"[" + good[9:], "not an object"),
        (good.replace(b'"shape"', b'"shade"', 1), "fields"),
        (without.read_bytes(), "names"),
        (shaped.read_bytes(), "shapes"),
    ):
        refused = put(at, data)
        assert (refused.status, refused.json.get("rule")) == (422, rule)


def test_a_wrong_checksum_is_refused(at: str, tmp_path: Path):
    refused = ask(at, "PUT", "/models/m", model(tmp_path, 2), sha(b"something else"))
    assert (refused.status, refused.json["rule"]) == (422, "Repr-Digest")


def test_a_folder_is_no_model_and_none_takes_its_place(tmp_path: Path):
    (tmp_path / "models" / "sub").mkdir(parents=True)
    with serve(tmp_path / "models", workers=1) as running:
        assert put(running.address, model(tmp_path, 1), "sub").status == 404
        assert ask(running.address, "GET", "/models/sub").status == 404
    assert list((tmp_path / "models" / "sub").iterdir()) == []
    assert not unfinished(tmp_path / "models")


def test_parts_must_follow_each_other(at: str, tmp_path: Path):
    data = model(tmp_path, 3)
    assert ask(at, "PUT", "/models/row", data[:100], part(data, 0, 100)).status == 202
    for first, end in ((0, 100), (50, 200), (200, 300), (len(data) - 1, len(data))):
        refused = ask(at, "PUT", "/models/row", data[first:end], part(data, first, end))
        assert (refused.status, refused.headers["upload-offset"]) == (409, "100")
    assert ask(at, "PUT", "/models/row", data[100:], part(data, 100, len(data))).status == 201


def test_concurrent_upload_of_one_file_waits(at: str, tmp_path: Path):
    data = model(tmp_path, 4)
    statuses = []
    line = begun(at, "both", data, 1000)
    offset = {"upload-offset": "1000"}
    assert until(
        lambda: offset.items() <= ask(at, "HEAD", "/models/both", headers=sha(data)).headers.items()
    )
    other = threading.Thread(target=lambda: statuses.append(put(at, data, "both").status))
    other.start()
    time.sleep(0.2)
    assert not statuses
    line.sendall(data[1000:])
    assert line.recv(1000).startswith(b"HTTP/1.1 201 ")
    line.close()
    other.join()
    assert statuses == [201]
    assert ask(at, "GET", "/models/both").body == data


@pytest.mark.needs(tool="namespaces")
def test_a_full_disk_is_507_and_the_old_model_stays(tmp_path: Path):
    (disk := tmp_path / "disk").mkdir()
    with serve(disk, workers=2, command=(*OWN_DISK, str(disk))) as small:
        at = small.address
        assert put(at, model(tmp_path, 1)).status == 201
        assert put(at, model(tmp_path, 2, hidden=3_000) + bytes(1 << 20)).status == 507, (
            "more than is free"
        )
        second = model(tmp_path, 3, hidden=1_900)
        line = begun(at, "m", second, 1000)  # there's room when it begins …
        time.sleep(0.2)
        # … and none when it goes on
        assert put(at, model(tmp_path, 4, hidden=1_800), "other").status == 201
        line.sendall(second[1000:])
        assert line.recv(1000).startswith(b"HTTP/1.1 507 ")
        line.close()
        asked = ask(at, "HEAD", "/models/m", headers=sha(second))
        assert asked.headers["upload-offset"] == "0", "what can't be finished was kept"
        assert read(at).json["digits"] == expected(1)


@pytest.mark.parametrize(("call", "time"), [("rename", 1), ("fsync", 2)])
def test_full_disk_at_the_end_leaves_one_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, time: int
):
    old = model(tmp_path, 1)
    new = model(tmp_path, 2)
    path = tmp_path / "models" / "m"
    path.parent.mkdir()
    path.write_bytes(old)
    calls = []
    real = getattr(os, call)

    def full(*given: object, **named: object) -> object:
        calls.append(call)
        if len(calls) == time:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        return real(*given, **named)

    async def stream() -> AsyncIterator[bytes]:
        yield new

    with monkeypatch.context() as patched, pytest.raises(Refused) as refused:
        patched.setattr(os, call, full)
        whole = Part(0, len(new) - 1, len(new), hashlib.sha256(new).digest())
        asyncio.run(receive(SimpleNamespace(stream=stream), path, whole))
    assert refused.value.status == 507
    assert len(calls) == time
    assert path.read_bytes() == (new if call == "fsync" else old), "it has its name, or it hasn't"
    assert [each.name for each in path.parent.iterdir()] == ["m"]


@each_of(
    "weights",
    {},
    [],
    {"out.bias": [0] * 9},
    {"out.bias": [1e39] * 10},
    {"out.bias": [10**400] * 10},
    {"out.bias": [[0] * 10, [0]]},
    {"out.bias": {}},
    {"out.bias": [0] * 10, "hidden.weight": [0] * 8192},
    {"out.bias": [float("nan")] * 10},
    ids=lambda weights: str(weights)[:20],
)
def test_tenant_weights_that_do_not_fit_the_model_are_refused(at: str, weights: object):
    refused = ask(at, "PUT", "/models/m/tenants/none", weights)
    assert (refused.status, refused.json["rule"]) == (422, "numbers")
    assert read(at, "?tenant=none").status == 404


HOST = b" HTTP/1.1\r\nHost: x\r\n"
BIG = b"x" * 1_000_000
DIGEST = b"Repr-Digest: sha-256=:" + b"A" * 43 + b"=:\r\n"
UPLOAD = b"PUT /models/x" + HOST + DIGEST
ASK = b"POST /models/m/answers" + HOST
HOSTILE = [  # a request, and its status
    (b"GET /models/../../etc/passwd" + HOST + b"\r\n", 404),
    (b"GET /models/..%2f..%2fetc%2fpasswd" + HOST + b"\r\n", 404),
    (b"GET /models/.x" + HOST + b"\r\n", 404),
    (b"GET /models/%00" + HOST + b"\r\n", 404),
    (b"GET /models/m%0a" + HOST + b"\r\n", 404),
    (b"GET /models/" + b"n" * 5000 + HOST + b"\r\n", 404),
    (b"GET /models/m" + HOST + b"X: " + BIG + b"\r\n\r\n", 431),
    (b"GET /" + BIG + HOST + b"\r\n", 431),
    (b"PUT /models/../x" + HOST + DIGEST + b"Content-Length: 1\r\n\r\nx", 404),
    (b"PUT /models/x" + HOST + b"Content-Length: 1\r\n\r\nx", 400),
    (b"PUT /models/x" + HOST + b"Repr-Digest: md5=x\r\nContent-Length: 1\r\n\r\nx", 400),
    (UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 411),
    (UPLOAD + b"Content-Length: 0\r\n\r\n", 400),
    (UPLOAD + b"Content-Length: 99999999999999\r\n\r\nx", 413),
    (UPLOAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400),
    (UPLOAD + b"Content-Range: bytes 0-0/*\r\nContent-Length: 1\r\n\r\nx", 400),
    (UPLOAD + b"Content-Range: bytes 0-99/100\r\nContent-Length: 1\r\n\r\nx", 400),
    (UPLOAD + b"Content-Range: bytes 5-5/3\r\nContent-Length: 1\r\n\r\nx", 400),
    (UPLOAD + b"Content-Range: bytes 7-7/9\r\nContent-Length: 1\r\n\r\nx", 409),
    (ASK + b"Content-Length: 3\r\n\r\nxyz", 422),
    (ASK + b"Content-Length: 64\r\n\r\n" + b"\xff" * 64, 422),
    (ASK + b"Content-Length: 2000000\r\n\r\n" + b"\0" * 2_000_000, 413),
    (
        b"POST /models/m/answers?tenant=..%2fm" + HOST + b"Content-Length: 64\r\n\r\n" + b"\0" * 64,
        404,
    ),
    (b"POST /models/m/answers?backend=x" + HOST + b"Content-Length: 64\r\n\r\n" + b"\0" * 64, 404),
    (b"PUT /models/m/tenants/t" + HOST + b"Content-Length: 20000\r\n\r\n" + b"[" * 20_000, 422),
    (b"DELETE /models/m" + HOST + b"\r\n", 405),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_request_gets_the_right_status(at: str, number: int):
    request, status = HOSTILE[number]
    half = len(request) // 2
    assert raw(at, request[:half], request[half:]).split()[1:2] == [b"%d" % status]


# --- processes that are killed --------------------------------------------------------------------
def test_the_server_ends_with_a_killed_caller(tmp_path: Path):
    code = (
        "import sys; from helpers.serve import serve; s = serve(sys.argv[1], workers=2); r = "
        "s.__enter__();print(r.pid, flush=True); input()"
    )
    command = [sys.executable, "-c", code, tmp_path]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as caller:
        watcher = psutil.Process(int(caller.stdout.readline()))
        assert until(lambda: len(watcher.children()) == 2)
        processes = [watcher, *watcher.children()]
        caller.kill()
    assert until(lambda: not any(process.is_running() for process in processes))


def test_workers_end_with_a_killed_watcher(tmp_path: Path):
    with serve(tmp_path, workers=2) as running:
        workers = psutil.Process(running.pid).children()
        os.kill(running.pid, signal.SIGKILL)
        assert len(workers) == 2
        assert until(lambda: not any(process.is_running() for process in workers))


@pytest.mark.measured
def test_a_worker_that_has_lived_is_replaced_at_once(tmp_path: Path):
    """Best of five. Only one that dies young has to wait."""
    waits = []
    with serve(tmp_path, workers=1) as running:
        for _ in range(5):
            time.sleep(2 * RESTART_PAUSE_S)
            (worker,) = alive(running.pid)
            os.kill(worker, signal.SIGKILL)
            began = time.monotonic()
            assert until(lambda old=worker: alive(running.pid) not in ([], [old]))
            waits.append(time.monotonic() - began)
    assert min(waits) < RESTART_PAUSE_S, waits


def test_missing_folder_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(OSError, match="did not start"), serve(tmp_path / "none"):
        pass
    assert "is no folder" in capfd.readouterr().err


def test_kill_at_any_moment_leaves_one_whole_model(tmp_path: Path):
    """It kills a worker, or the process that watches them. Each round starts with what the last
    kill left.
    """
    (folder := tmp_path / "models").mkdir()
    files = [model(tmp_path, turn, hidden=5_000) for turn in (1, 2)]
    (folder / "m").write_bytes(files[0])
    with ExitStack() as last:
        running = last.enter_context(serve(folder, workers=2))
        for number in range(25):
            chance = random.Random(number)
            assert until(lambda pid=running.pid: len(alive(pid)) == 2)
            killed = chance.choice([running.pid, *alive(running.pid)])
            new = files[(folder / "m").read_bytes() == files[0]]
            client = threading.Thread(target=bring, args=(running.address, new))
            client.start()
            time.sleep(chance.uniform(0, 0.08))
            os.kill(killed, signal.SIGKILL)
            client.join()
            assert (folder / "m").read_bytes() in files
            if killed == running.pid:
                running = last.enter_context(serve(folder, workers=2))
            now = files.index(ask(running.address, "GET", "/models/m").body)
            assert read(running.address).json["digits"] == expected(now + 1)


def alive(watcher: int) -> list[int]:
    """The workers that weren't killed in the round before."""
    found = []
    for worker in psutil.Process(watcher).children():
        with suppress(psutil.NoSuchProcess):
            if worker.status() != psutil.STATUS_ZOMBIE:
                found.append(worker.pid)
    return found


def bring(address: str, new: bytes) -> None:
    """Uploads a file in seven parts, from where an earlier upload ended; gives up when the server
    is killed.
    """
    size = len(new) // 7
    try:
        asked = ask(address, "HEAD", "/models/m", headers=sha(new))
        for first in range(int(asked.headers["upload-offset"]), len(new), size):
            end = min(first + size, len(new))
            ask(address, "PUT", "/models/m", new[first:end], part(new, first, end))
    except (OSError, HTTPException):
        pass


def test_unfinished_file_is_removed_when_it_is_stale(tmp_path: Path):
    data = model(tmp_path)
    (folder := tmp_path / "models").mkdir()
    with serve(folder, workers=1) as running:
        for name, age in ("old", STALE_S + 60), ("new", STALE_S - 60):
            assert (
                ask(running.address, "PUT", f"/models/{name}", data[:9], part(data, 0, 9)).status
                == 202
            )
            (parts,) = folder.glob(f".{name}.*.part")
            os.utime(parts, (time.time() - age,) * 2)
        assert put(running.address, data).status == 201
        assert [name.split(".")[1] for name in unfinished(folder)] == ["new"]
