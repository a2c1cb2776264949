"""The model server's limits: on memory, on slow clients, on unfinished uploads. And a file that was
cut off.
"""

import asyncio
import fcntl
import os
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import psutil
import pytest
from serving import (
    PICTURES,
    altered,
    ask,
    begun,
    expected,
    model,
    part,
    put,
    read,
    sha,
    until,
    upload_of,
    workers,
)
from tables import each_of

from helpers.ideas import upload
from helpers.serve import Running, serve, uploads
from helpers.serve.client import Answer
from helpers.serve.validation import Refused
from helpers.units import GiB, MiB

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="Linux keeps the limits, and /proc tells of them"
    ),
]


# --- memory ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A worker with 12 MiB, less than any copy of its model needs."""
    folder = tmp_path_factory.mktemp("tight")
    (folder / "m").write_bytes(model(folder.parent, 1, hidden=100_000))
    (folder / "small").write_bytes(model(folder.parent, 2))
    with serve(folder, workers=1, memory="12 MiB") as running:
        yield running


@pytest.fixture
def at(tight: Running) -> Iterator[str]:
    yield tight.address
    (row,) = workers(tight.address)
    assert row["starts"] == 1, "it has died meanwhile"
    assert until(lambda: read(tight.address, "", PICTURES[:9]).status == 200)
    assert read(tight.address, "", PICTURES[:9]).json["digits"] == expected(1, PICTURES[:9])


@pytest.mark.parametrize("backend", ["copied", "half"])
def test_weights_that_do_not_fit_are_refused(at: str, backend: str):
    refused = read(at, f"?backend={backend}", PICTURES[:1])
    assert refused.status == 503
    assert "budget" in refused.json["error"]
    assert refused.headers["retry-after"]


def test_threads_that_multiply_do_not_end_the_worker(at: str):
    """OpenBLAS takes 32 MiB for each thread, and ends a process that can't get it."""

    def statuses(asked: tuple[str, int]) -> set[int]:
        name, pictures = asked
        path = f"/models/{name}/answers"
        body = PICTURES[:pictures].tobytes()
        return {ask(at, "POST", path, body).status for _ in range(15)}

    with ThreadPoolExecutor(5) as clients:
        assert set().union(*clients.map(statuses, [("small", 5)] * 2 + [("m", 9)] * 3)) == {200}


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


def test_budget_that_is_too_small_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(OSError, match="did not start"), serve(tmp_path, memory="1 MiB"):
        pass
    assert "use at least 8 MiB" in capfd.readouterr().err


# --- a file that was cut off ----------------------------------------------------------------------
def test_worker_that_reads_beyond_the_end_of_a_cut_file_is_replaced(tmp_path: Path):
    whole = model(tmp_path, 1, hidden=40_000)
    (folder := tmp_path / "models").mkdir()

    def ask_meanwhile(at: str) -> Answer | None:
        with suppress(OSError, HTTPException):  # from the worker that died
            return read(at, "", PICTURES[:400])

    def cut_off_while_they_read() -> bool:
        """As when somebody copies a new file over it."""
        (tmp_path / "copy").write_bytes(whole)
        os.replace(tmp_path / "copy", folder / "m")
        with ThreadPoolExecutor(6) as clients:
            asked = [clients.submit(ask_meanwhile, at) for _ in range(6)]
            until(lambda: any(row["versions"] for row in workers(at)))
            os.truncate(folder / "m", 20_000)
        answers = [
            each.result().json for each in asked if each.result() and each.result().status == 200
        ]
        assert all(answer["digits"] == expected(1, PICTURES[:400]) for answer in answers)
        return any(row["ended by"] == "SIGBUS" for row in workers(at))

    with serve(folder, workers=3) as running:
        at = running.address
        assert until(cut_off_while_they_read, 60)
        assert until(lambda: {read(at).status for _ in range(9)} == {503}), (
            "the header says how long it must be"
        )
        assert put(at, whole).status == 201
        assert all(
            read(at, "", PICTURES[:5]).json["digits"] == expected(1, PICTURES[:5]) for _ in range(9)
        )


NO_FORK = """
def fails(fork=os.fork):
    if os.path.exists(os.path.join(sys.argv[1], "no_more_processes")):
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()

os.fork = fails
"""


def test_worker_that_cannot_be_forked_now_is_forked_later(tmp_path: Path):
    (tmp_path / "m").write_bytes(model(tmp_path, 1))
    with serve(tmp_path, workers=2, command=altered(NO_FORK)) as running:
        (tmp_path / "no_more_processes").touch()
        first, second = psutil.Process(running.pid).children()
        first.kill()
        time.sleep(0.5)
        assert second.is_running()
        (tmp_path / "no_more_processes").unlink()
        assert until(lambda: sorted(row["starts"] for row in workers(running.address)) == [1, 2])
        assert {tuple(read(running.address).json["digits"]) for _ in range(8)} == {
            tuple(expected(1))
        }


# --- slow clients ---------------------------------------------------------------------------------
HASTY = """
from helpers import serving_limits
serving_limits.TIMEOUT_S = 1.0
from helpers.serve import wire
wire.PIECE = 1 << 16
"""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that waits one second where others wait ten."""
    folder = tmp_path_factory.mktemp("hasty")
    (folder / "m").write_bytes(model(folder.parent, 1))
    (folder / "large").touch()
    os.truncate(folder / "large", 64 * MiB)
    with serve(folder, workers=1, command=altered(HASTY)) as running:
        yield running.address


def dripped(at: str, begin: bytes, rest: bytes = b"x" * 1000) -> bytes | None:
    """Sends `begin`, then a byte each 0.1 s. Returns what the server said until it hung up; None if
    it goes on.
    """
    with socket.create_connection(tuple(at.split(":"))) as line:
        line.sendall(begin)
        line.settimeout(0.1)
        said = b""
        end = time.monotonic() + 10
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
SMUGGLED = (
    b"Host: x\r\nContent-Range: bytes 0-9/100\r\nContent-Length: 10\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n14\r\n" + b"x" * 20 + b"\r\n0\r\n\r\n"
)
DIGEST = b"Repr-Digest: sha-256=:" + b"A" * 43 + b"=:\r\n"


@pytest.mark.measured
@each_of(
    ("begin", "statuses"),
    (b"GET /metrics HTTP/1.1\r\nX: ", []),
    (WHOLE + b"GET /metrics HTTP/1.1\r\nX: ", [b"404"]),
    (b"PUT /models/slow HTTP/1.1\r\n" + DIGEST + BODY, [b"408"]),
    (b"POST /models/m/answers HTTP/1.1\r\n" + BODY, [b"408"]),
    (b"POST /no/thing HTTP/1.1\r\n" + BODY, [b"404"]),
    ids=["head", "second head", "upload", "pictures", "unread body"],
)
def test_slow_sender_is_cut_off(hasty: str, begin: bytes, statuses: list[bytes]):
    with ThreadPoolExecutor(1) as slow:
        said = slow.submit(dripped, hasty, begin)
        while not said.done():
            assert read(hasty).json["digits"] == expected(1), "nobody else waits"
        assert said.result() is not None
        assert [head.split()[0] for head in said.result().split(b"HTTP/1.1 ")[1:]] == statuses


@pytest.mark.measured
@pytest.mark.parametrize("query", ["", "?through=user"])
def test_slow_reader_is_cut_off(hasty: str, query: str):
    worker = psutil.Process(workers(hasty)[0]["pid"])

    def sending() -> bool:
        return any(file.path.endswith("/large") for file in worker.open_files())

    with socket.create_connection(tuple(hasty.split(":"))) as line, suppress(ConnectionResetError):
        line.sendall(f"GET /models/large{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert until(sending)
        count = len(line.recv(1000))
        end = time.monotonic() + 10
        while sending():
            assert time.monotonic() < end
            count += len(line.recv(1000))
            time.sleep(0.05)
            assert read(hasty).json["digits"] == expected(1), "nobody else waits"
        while got := len(line.recv(MiB)):
            count += got
    assert count < 64 * MiB
    assert len(ask(hasty, "GET", f"/models/large{query}").body) == 64 * MiB


def test_download_stops_when_its_client_has_gone(tmp_path: Path):
    (tmp_path / "big").touch()
    os.truncate(tmp_path / "big", GiB)
    with serve(tmp_path, workers=1) as running:
        worker = psutil.Process(workers(running.address)[0]["pid"])
        for _ in range(20):
            with socket.create_connection(tuple(running.address.split(":"))) as line:
                line.sendall(b"GET /models/big?through=user HTTP/1.1\r\nHost: x\r\n\r\n")
                time.sleep(0.01)
        assert until(
            lambda: not any(file.path.endswith("/big") for file in worker.open_files()), 60
        )
        assert worker.io_counters().read_chars < GiB, "20 GiB were asked for"


@pytest.mark.measured
def test_bytes_that_came_slowly_are_kept_and_can_be_completed(hasty: str, tmp_path: Path):
    data = model(tmp_path, 2)
    assert dripped(hasty, upload_of("kept", data) + data[:5000], data[5000:]).startswith(
        b"HTTP/1.1 408 "
    )
    first = int(ask(hasty, "HEAD", "/models/kept", headers=sha(data)).headers["upload-offset"])
    assert 5000 <= first < 6000
    assert (
        ask(hasty, "PUT", "/models/kept", data[first:], part(data, first, len(data))).status == 201
    )


@pytest.mark.measured
def test_client_that_waits_for_another_upload_is_not_slow(hasty: str, tmp_path: Path):
    """The server stops reading what it can't write yet."""
    data = model(tmp_path, 3, hidden=4000)
    with begun(hasty, "both", data, 1):
        assert until(
            lambda: (
                ask(hasty, "HEAD", "/models/both", headers=sha(data)).headers["upload-offset"]
                == "1"
            )
        )
        refused = put(hasty, data, "both")
    assert refused.status == 409
    assert refused.headers["upload-offset"] == "1"


# --- uploads --------------------------------------------------------------------------------------
def test_request_with_two_lengths_is_refused_and_its_connection_closed(hasty: str):
    with socket.create_connection(tuple(hasty.split(":")), 20) as line:
        line.sendall(b"PUT /models/x HTTP/1.1\r\n" + DIGEST + SMUGGLED)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 411 Length Required")
    headers = {"Repr-Digest": DIGEST.decode().split()[1]}
    assert ask(hasty, "HEAD", "/models/x", headers=headers).headers["upload-offset"] == "0"


def test_upload_with_more_bytes_than_the_file_begins_again(hasty: str, tmp_path: Path):
    (tmp_path / "made").write_bytes(data := model(tmp_path))
    too_many = bytes(len(data) + 10)
    headers = sha(data) | {"Content-Range": f"bytes 0-{len(too_many) - 1}/{2 * len(data)}"}
    assert ask(hasty, "PUT", "/models/one", too_many, headers).status == 202
    upload.upload(tmp_path / "made", hasty, to="/models/one")
    assert ask(hasty, "PUT", "/models/two", too_many, headers).status == 202
    assert put(hasty, data, "two").status == 201
    assert ask(hasty, "GET", "/models/one").body == ask(hasty, "GET", "/models/two").body == data


def test_upload_that_waits_too_long_for_another_gets_409(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert uploads.LOCK_TIMEOUT_S > upload.TIMEOUT_S + 1, (
        "the client of lesson 02 hangs up first, and comes again"
    )
    monkeypatch.setattr(uploads, "LOCK_TIMEOUT_S", 0.1)

    async def bring() -> None:
        async with uploads.locked(tmp_path / "m.part"):
            pytest.fail("two bring the same file")

    with open(tmp_path / "m.part", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another request") as refused:
            asyncio.run(bring())
    assert refused.value.status == 409


@pytest.mark.parametrize("replaced", [False, True])
def test_file_published_before_its_lock_stays(
    tmp_path: Path, replaced: bool, monkeypatch: pytest.MonkeyPatch
):
    collecting = tmp_path / ".m.0.part"
    lock = fcntl.flock

    def published_first(file: int, how: int) -> None:
        os.replace(collecting, tmp_path / "m")
        if replaced:
            collecting.touch()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", published_first)
    assert uploads.try_lock(collecting) is None
    monkeypatch.undo()
    file = uploads.try_lock(collecting)
    assert file is not None
    assert os.path.samestat(os.fstat(file), collecting.stat())
    os.close(file)
