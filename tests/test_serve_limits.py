"""The model server's limits: on memory, on slow clients, on unfinished uploads. And a file that was cut off."""

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from serving import PICTURES, ask, expected, model, part, put, read, sha, until

from helpers.folders import ROOT
from helpers.ideas import upload
from helpers.serve import Running, parts, serve
from helpers.serve import workers as serve_workers
from helpers.serve.asked import Refused
from helpers.serve.parts import MOST
from helpers.serve.places import LONGEST_PAUSE, Place
from helpers.serve.workers import SWEEP, look_after
from helpers.units import MiB

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux keeps the limits, and /proc tells of them"),
]


def workers(at: str) -> list[dict]:
    return ask(at, "GET", "/metrics").json["workers"]


# --- memory -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A worker with 12 MiB, less than any copy of its model needs."""
    folder = tmp_path_factory.mktemp("tight")
    (folder / "m").write_bytes(model(folder.parent, 1, hidden=100_000))
    (folder / "small").write_bytes(model(folder.parent, 2))
    (folder / "halves").write_bytes(model(folder.parent, 3, hidden=36_000))  # 10.3 MiB; there's room for half of it
    with serve(folder, workers=1, memory="12 MiB") as running:
        yield running


@pytest.fixture
def at(tight: Running) -> Iterator[str]:
    (before,) = workers(tight.address)
    yield tight.address
    wait_for_room(tight.address)
    time.sleep(2 * SWEEP)  # if it has lost memory, it ends now, not in the next test
    (after,) = workers(tight.address)
    assert after["pid"] == before["pid"]


def wait_for_room(at: str) -> None:
    def answers() -> bool:
        with suppress(OSError, HTTPException):
            return read(at, "", PICTURES[:9]).status == 200
        return False

    assert until(answers)
    assert read(at, "", PICTURES[:9]).json["digits"] == expected(1, PICTURES[:9])


@pytest.mark.parametrize("backend", ["copied", "half"])
def test_weights_that_do_not_fit_are_refused(at: str, backend: str):
    refused = read(at, f"?backend={backend}", PICTURES[:1])
    assert refused.status == 503 and "budget" in refused.json["error"] and refused.headers["retry-after"]


def test_an_answer_that_needs_too_much_is_refused(at: str):
    """Half of the weights fit. To answer from them, they are converted back."""
    assert ask(at, "POST", "/models/halves/answers?backend=half", PICTURES[:1].tobytes()).status == 503


def test_an_answer_about_many_pictures_fits(at: str):
    assert read(at, "", PICTURES[:300]).json["digits"] == expected(1, PICTURES[:300]), "times 100,000 hidden units"
    pictures = np.tile(PICTURES, (36, 1))[:16_000]
    said = ask(at, "POST", "/models/small/answers", pictures.tobytes())
    assert said.json["digits"] == (expected(2, PICTURES) * 36)[:16_000]


def test_a_body_that_does_not_fit_is_refused(at: str):
    lists = b'{"out.bias": [' + b"[]," * 340_000 + b"[]]}"  # three bytes of JSON take 64 in memory
    assert ask(at, "PUT", "/models/m/tenants/t", lists).status == 503


@pytest.mark.measured
def test_refusals_leave_nothing(at: str):
    (row,) = workers(at)
    process = psutil.Process(row["pid"])
    before = process.num_fds()
    for _ in range(10):
        assert read(at, "?backend=copied").status == read(at, "?backend=half").status == 503
        assert ask(at, "POST", "/models/halves/answers?backend=half", PICTURES[:1].tobytes()).status == 503
    assert until(lambda: workers(at)[0]["anonymous"] - row["anonymous"] < 2 * MiB and process.num_fds() <= before)


@pytest.mark.measured
def test_after_many_bodies_at_once_there_is_room_again(tight: Running):
    """Even if CPython lost some memory when it ran out: then another worker has taken the first one's place."""
    at = tight.address
    pictures = json.dumps({"pictures": [[16] * 64] * 4000}).encode()
    with ThreadPoolExecutor(24) as clients:
        statuses = list(clients.map(lambda _: answered(at, pictures), range(48)))
    assert set(statuses) <= {200, 503, None}
    time.sleep(2 * SWEEP)
    wait_for_room(at)
    assert workers(at)[0]["ended by"] in (None, "exited 0")


@pytest.mark.measured
@pytest.mark.parametrize(
    ("mib", "tasks", "copies", "ends"), [(10, 0, 0, True), (6, 0, 0, False), (10, 1, 0, False), (10, 0, 1, False)]
)
def test_a_worker_that_has_lost_its_budget_ends(mib: int, tasks: int, copies: int, ends: bool):
    """It ends if more than a third of the budget is taken, no request is running, and no copy explains it."""
    code = f"""
import asyncio
from types import SimpleNamespace
from helpers.serve.budget import keep_to, threads
from helpers.serve.workers import look_after

async def main():
    server = SimpleNamespace(should_exit=False, server_state=SimpleNamespace(tasks=[None] * {tasks}))
    versions = SimpleNamespace(copies={copies}, drop_outdated=lambda: None, let_go=lambda: False)
    asyncio.get_running_loop().set_default_executor(threads(1))
    keep_to(24 << 20)
    lost = bytearray({mib} << 20)
    asyncio.create_task(look_after(server, versions, 24 << 20))
    await asyncio.sleep(0.7)
    print(server.should_exit)

asyncio.run(main())
"""
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (said.stdout, said.stderr) == (f"{ends}\n", "")


def answered(at: str, pictures: bytes) -> int | None:
    """The status, or None if the server hadn't even the memory to read the request."""
    try:
        said = ask(at, "POST", "/models/small/answers", pictures, {"Content-Type": "application/json"})
    except (OSError, HTTPException):
        return None
    return said.status


def test_who_looks_after_memory_goes_on_where_it_runs_out(monkeypatch: pytest.MonkeyPatch):
    looks: list[str] = []

    def runs_out(where: str) -> bool:
        looks.append(where)
        if looks.count(where) == 1:
            raise MemoryError
        return True

    monkeypatch.setattr(serve_workers, "lost", lambda budget: runs_out("lost"))
    kept = SimpleNamespace(copies=False, drop_outdated=lambda: runs_out("outdated"))
    server = SimpleNamespace(should_exit=False, server_state=SimpleNamespace(tasks=set()))
    asyncio.run(asyncio.wait_for(look_after(server, kept, 1), 5))
    assert looks == ["outdated", "outdated", "lost", "outdated", "lost", "lost"]


def test_threads_that_multiply_end_no_worker(at: str):
    """OpenBLAS takes 32 MiB for each thread, and ends a process that can't get it."""

    def statuses(asked: tuple[str, int]) -> set[int]:
        name, pictures = asked
        path, body = f"/models/{name}/answers", PICTURES[:pictures].tobytes()
        return {ask(at, "POST", path, body).status for _ in range(15)}

    with ThreadPoolExecutor(5) as clients:
        assert set().union(*clients.map(statuses, [("small", 5)] * 2 + [("m", 9)] * 3)) == {200}


def test_copies_that_are_kept_give_way(tmp_path: Path):
    """To other copies and to a new version: the budget is enough for each of these alone."""
    (folder := tmp_path / "models").mkdir()
    files = [model(tmp_path, turn, hidden=40_000) for turn in (1, 2)]  # 11.4 MiB
    (folder / "other").write_bytes(model(tmp_path, 3, hidden=55_000))  # 15.7 MiB
    with serve(folder, workers=1, memory="24 MiB") as running:
        at = running.address
        for turn in (1, 2, 1, 2):
            assert put(at, files[turn - 1]).status == 201
            for backend in ("copied", "mapped", "half", "copied"):
                assert read(at, f"?backend={backend}", PICTURES[:2]).json["digits"] == expected(turn, PICTURES[:2])
            assert ask(at, "POST", "/models/other/answers?backend=copied", PICTURES[:1].tobytes()).status == 200
        assert read(at, "", PICTURES[:40]).status == 200
        assert workers(at)[0]["ended by"] is None


def test_an_upload_needs_no_more_than_the_smallest_budget(tmp_path: Path):
    data = model(tmp_path, 1, hidden=100_000)
    (folder := tmp_path / "models").mkdir()
    with serve(folder, workers=1, memory=8 * MiB) as running:
        for first in range(0, len(data), 10 << 20):
            end = min(first + (10 << 20), len(data))
            done = ask(running.address, "PUT", "/models/m", data[first:end], part(data, first, end))
            assert done.status == (201 if end == len(data) else 202)
        assert read(running.address, "", PICTURES[:1]).json["digits"] == expected(1, PICTURES[:1])
        assert workers(running.address)[0]["starts"] == 1


def test_a_budget_that_is_too_small_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(OSError, match="did not start"), serve(tmp_path, memory="1 MiB"):
        pass
    assert "use at least 8 MiB" in capfd.readouterr().err


# --- a file that was cut off ------------------------------------------------------------------------------
def test_a_worker_that_reads_beyond_the_end_is_replaced_and_nobody_else_sees_it(tmp_path: Path):
    (folder := tmp_path / "models").mkdir()
    whole = model(tmp_path, 1, hidden=40_000)
    (folder / "other").write_bytes(model(tmp_path, 3))
    ended, failed, lost = threading.Event(), [], 0

    def load() -> None:
        while not ended.is_set():
            try:
                said = ask(at, "POST", "/models/other/answers", PICTURES[:20].tobytes())
            except (OSError, HTTPException):  # from the worker that died
                continue
            if said.status != 200 or said.json["digits"] != expected(3):
                failed.append(said)

    def asked() -> None:
        nonlocal lost
        try:
            said = read(at, "", PICTURES[:400])
            if said.status == 200 and said.json["digits"] != expected(1, PICTURES[:400]):
                failed.append(said)
        except (OSError, HTTPException):
            lost += 1

    def cut_off_while_they_read() -> bool:
        """As when somebody copies a new file over it."""
        (tmp_path / "copy").write_bytes(whole)
        os.replace(tmp_path / "copy", folder / "m")
        clients = [threading.Thread(target=asked) for _ in range(6)]
        for client in clients:
            client.start()
        until(lambda: any(row["versions"] for row in workers(at)))
        os.truncate(folder / "m", 20_000)
        for client in clients:
            client.join()
        return any(row["ended by"] == "SIGBUS" for row in workers(at))

    with serve(folder, workers=3, command=("sh", "-c", 'ulimit -S -c "$(ulimit -H -c)"; exec "$@"', "sh")) as running:
        at = running.address
        assert all(psutil.Process(row["pid"]).rlimit(psutil.RLIMIT_CORE)[0] == 0 for row in workers(at))
        other = threading.Thread(target=load)
        other.start()
        assert until(cut_off_while_they_read, 20) and lost
        assert {read(at).status for _ in range(12)} == {503}, "the header says how long the file must be"
        assert ask(at, "POST", "/models/other/answers", PICTURES[:20].tobytes()).json["digits"] == expected(3)
        assert put(at, whole).status == 201
        ended.set()
        other.join()
        before = [row["answers"] for row in workers(at)]

        def all_answer() -> bool:
            assert read(at, "", PICTURES[:5]).json["digits"] == expected(1, PICTURES[:5])
            return all(row["answers"] > was for row, was in zip(workers(at), before, strict=True))

        assert until(all_answer, 20) and not failed
        assert {row["ended by"] for row in workers(at)} <= {None, "SIGBUS"}


@pytest.mark.measured
def test_workers_that_die_at_once_are_not_replaced_at_once(tmp_path: Path):
    with serve(tmp_path, workers=2) as running:
        watcher, began, killed = psutil.Process(running.pid), time.monotonic(), []
        _, steady = [child.pid for child in watcher.children()]
        while time.monotonic() < began + 2 * LONGEST_PAUSE:
            for child in watcher.children():
                if child.pid != steady and child.pid not in killed:
                    os.kill(child.pid, signal.SIGKILL)
                    killed.append(child.pid)
            time.sleep(0.005)
        assert 2 < len(killed) < 10
        row = until(
            lambda: next((row for row in workers(running.address) if row["pid"] not in [*killed, steady]), None)
        )
        assert (row["ended by"], row["starts"]) == ("SIGKILL", len(killed) + 1)


@pytest.mark.measured
def test_a_worker_that_has_lived_is_replaced_at_once():
    place = Place()
    for lived, pause in (
        (0.5, 0.05),
        (0.5, 0.15),
        (0.5, 0.35),
        (0.5, 0.75),
        (0.5, 1.0),
        (0.5, 1.0),
        (1.5, 0.0),
        (0.5, 0.05),
    ):
        place.taken(os.posix_spawn("/bin/true", ["true"], {}))
        place.began -= lived
        assert until(lambda: place.ended() == 0) and place.pause == pytest.approx(pause)


# --- slow clients -----------------------------------------------------------------------------------------
HASTY = (
    "import sys; from helpers.serve.__main__ import main; from helpers.serve import wire; "
    "wire.PATIENCE, wire.PIECE = 1.0, 1 << 16; sys.argv[1:4] = []; main()"
)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that waits one second where others wait ten."""
    folder = tmp_path_factory.mktemp("hasty")
    (folder / "m").write_bytes(model(folder.parent, 1))
    (folder / "large").touch()
    os.truncate(folder / "large", 64 * MiB)
    with serve(folder, workers=1, command=(sys.executable, "-c", HASTY)) as running:
        yield running.address


def dripped(at: str, begin: bytes, rest: bytes = b"x" * 1000) -> bytes | None:
    """Sends `begin`, then a byte each 0.1 s. Returns what the server said until it hung up; None if it goes on."""
    with socket.create_connection(tuple(at.split(":"))) as line:
        line.sendall(begin)
        line.settimeout(0.1)
        said, end = b"", time.monotonic() + 10
        while time.monotonic() < end:
            try:
                if not (more := line.recv(65536)):
                    return said
                said += more
            except TimeoutError:
                line.sendall(rest[:1])
                rest = rest[1:]
            except ConnectionError:
                return said
    return None


WHOLE = b"GET /no/thing HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = b"Host: x\r\nContent-Length: 10000\r\n\r\n"
DIGEST = b"Repr-Digest: sha-256=:" + b"A" * 43 + b"=:\r\n"


@pytest.mark.measured
@pytest.mark.parametrize(
    ("begin", "statuses"),
    [
        (b"GET /metrics HTTP/1.1\r\nX: ", []),
        (WHOLE + b"GET /metrics HTTP/1.1\r\nX: ", [b"404"]),
        (b"PUT /models/slow HTTP/1.1\r\n" + DIGEST + BODY, [b"408"]),
        (b"POST /models/m/answers HTTP/1.1\r\n" + BODY, [b"408"]),
        (b"POST /no/thing HTTP/1.1\r\n" + BODY, [b"404"]),
    ],
    ids=["head", "second head", "upload", "pictures", "unread body"],
)
def test_who_sends_slowly_is_cut_off(hasty: str, begin: bytes, statuses: list[bytes]):
    with ThreadPoolExecutor(1) as slow:
        said = slow.submit(dripped, hasty, begin)
        while not said.done():
            assert read(hasty).json["digits"] == expected(1), "nobody else waits"
        assert said.result() is not None
        assert [head.split()[0] for head in said.result().split(b"HTTP/1.1 ")[1:]] == statuses


@pytest.mark.measured
@pytest.mark.parametrize("query", ["", "?through=user"])
def test_who_reads_slowly_is_cut_off(hasty: str, query: str):
    worker = psutil.Process(workers(hasty)[0]["pid"])

    def sending() -> bool:
        return any(file.path.endswith("/large") for file in worker.open_files())

    with socket.create_connection(tuple(hasty.split(":"))) as line, suppress(ConnectionResetError):
        line.sendall(f"GET /models/large{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert until(sending)
        count, end = len(line.recv(1000)), time.monotonic() + 10
        while sending():
            assert time.monotonic() < end
            count += len(line.recv(1000))
            time.sleep(0.05)
            assert read(hasty).json["digits"] == expected(1), "nobody else waits"
        while got := len(line.recv(MiB)):
            count += got
    assert count < 64 * MiB
    assert len(ask(hasty, "GET", f"/models/large{query}").body) == 64 * MiB


@pytest.mark.measured
def test_what_came_slowly_is_kept_and_can_be_finished(hasty: str, tmp_path: Path):
    data = model(tmp_path, 2)
    head = "".join(f"{name}: {text}\r\n" for name, text in sha(data).items())
    begin = f"PUT /models/kept HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{head}\r\n".encode()
    assert dripped(hasty, begin + data[:5000], data[5000:]).startswith(b"HTTP/1.1 408 ")
    first = int(ask(hasty, "HEAD", "/models/kept", headers=sha(data)).headers["upload-offset"])
    assert 5000 <= first < 6000
    assert ask(hasty, "PUT", "/models/kept", data[first:], part(data, first, len(data))).status == 201


@pytest.mark.measured
def test_who_has_to_wait_for_another_is_not_slow(hasty: str, tmp_path: Path):
    """The server stops reading what it can't write yet."""
    data = model(tmp_path, 3, hidden=4000)
    head = "".join(f"{name}: {text}\r\n" for name, text in sha(data).items())
    with socket.create_connection(tuple(hasty.split(":"))) as line:
        line.sendall(f"PUT /models/both HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{head}\r\n1".encode())
        assert until(lambda: ask(hasty, "HEAD", "/models/both", headers=sha(data)).headers["upload-offset"] == "1")
        refused = put(hasty, data, "both")
    assert refused.status == 409 and refused.headers["upload-offset"] == "1"


# --- unfinished uploads -----------------------------------------------------------------------------------
def test_the_oldest_unfinished_file_goes_when_there_are_too_many(tmp_path: Path):
    (folder := tmp_path / "models").mkdir()
    with serve(folder, workers=2) as running:
        for number in range(MOST + 3):
            data = b"%03d" % number
            assert ask(running.address, "PUT", f"/models/m{number:02}", data[:2], part(data, 0, 2)).status == 202
        assert sorted(path.name.split(".")[1] for path in folder.glob(".*.part")) == sorted(
            f"m{n:02}" for n in range(3, MOST + 3)
        )
        data = b"003"
        assert ask(running.address, "PUT", "/models/m03", data[2:], part(data, 2, 3)).status == 422, "all is there"


def test_what_is_arriving_stays_and_another_file_has_to_wait(tmp_path: Path):
    (folder := tmp_path / "models").mkdir()
    with serve(folder, workers=2) as running, ExitStack() as lines:
        for number in range(MOST):
            line = lines.enter_context(socket.create_connection(tuple(running.address.split(":"))))
            head = f"{DIGEST.decode()}Host: x\r\nContent-Length: 9\r\n\r\n".encode()
            line.sendall(f"PUT /models/m{number} HTTP/1.1\r\n".encode() + head + b"x")
        assert until(lambda: sum(path.stat().st_size for path in folder.glob(".*.part")) == MOST)
        refused = put(running.address, b"one too many")
        assert refused.status == 503 and refused.headers["retry-after"]
        assert len(list(folder.glob(".*.part"))) == MOST
        line.close()
        assert until(lambda: put(running.address, model(tmp_path)).status == 201)


def test_who_has_waited_too_long_for_another_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert parts.PATIENCE > upload.PATIENCE + 1, "the client of lesson 02 hangs up first, and comes again"
    monkeypatch.setattr(parts, "PATIENCE", 0.1)

    async def bring() -> None:
        async with parts.alone(tmp_path / "m.part"):
            pytest.fail("two bring the same file")

    with open(tmp_path / "m.part", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another request") as refused:
            asyncio.run(bring())
    assert refused.value.status == 409


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_published_before_it_was_locked_is_not_written_to(
    tmp_path: Path, replaced: bool, monkeypatch: pytest.MonkeyPatch
):
    collecting, lock = tmp_path / ".m.0.part", fcntl.flock

    def published_first(file: int, how: int) -> None:
        os.replace(collecting, tmp_path / "m")
        if replaced:
            collecting.touch()
        lock(file, how)

    monkeypatch.setattr(parts.fcntl, "flock", published_first)
    assert parts.locked(collecting) is None
    monkeypatch.undo()
    file = parts.locked(collecting)
    assert file is not None and os.path.samestat(os.fstat(file), collecting.stat())
    os.close(file)
