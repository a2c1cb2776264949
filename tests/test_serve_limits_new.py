"""S1 to S4."""

import os, sys, time, socket, signal
from pathlib import Path

import psutil
import pytest
from serving import PICTURES, ask, expected, model, part, put, raw, read, sha, unfinished, until
from helpers.ideas.upload import upload
from helpers.serve import serve
from helpers.units import GiB, MiB

SMUGGLED = (b"PUT /models/x HTTP/1.1\r\nHost: x\r\nRepr-Digest: sha-256=:" + b"A" * 43 + b"=:\r\nContent-Range: bytes 0-9/100\r\n"
            b"Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n" + b"x" * 20 + b"\r\n0\r\n\r\n")


def test_content_length_with_chunks_is_refused_and_the_connection_closed(tmp_path: Path):
    with serve(tmp_path, workers=1) as running, socket.create_connection(tuple(running.address.split(":")), 5) as line:
        line.sendall(SMUGGLED)
        answer = b""
        while more := line.recv(65536):
            answer += more
        assert answer.startswith(b"HTTP/1.1 400 ") and not unfinished(tmp_path)


def test_a_download_stops_when_its_client_has_gone(tmp_path: Path):
    (tmp_path / "big").touch()
    os.truncate(tmp_path / "big", GiB)
    with serve(tmp_path, workers=1) as running:
        (worker,) = psutil.Process(running.pid).children()
        for _ in range(20):
            with socket.create_connection(tuple(running.address.split(":"))) as line:
                line.sendall(b"GET /models/big?through=user HTTP/1.1\r\nHost: x\r\n\r\n")
                time.sleep(0.01)
        assert until(lambda: not any(file.path.endswith("/big") for file in worker.open_files()), 30)
        print(worker.io_counters())
        assert worker.io_counters().read_chars < GiB  # 100 GiB


def test_an_upload_with_more_bytes_than_the_file_begins_again(tmp_path: Path):
    (tmp_path / "made").write_bytes(data := model(tmp_path))
    (folder := tmp_path / "models").mkdir()
    too_many = bytes(len(data) + 10)
    headers = sha(data) | {"Content-Range": f"bytes 0-{len(too_many) - 1}/{2 * len(data)}"}
    with serve(folder, workers=1) as running:
        assert ask(running.address, "PUT", "/models/m", too_many, headers).status == 202
        upload(tmp_path / "made", running.address, to="/models/m")
        assert ask(running.address, "PUT", "/models/n", too_many, headers).status == 202
        assert put(running.address, data, "n").status == 201
        assert (folder / "m").read_bytes() == (folder / "n").read_bytes() == data


def test_a_worker_that_cannot_be_forked_now_is_forked_later(tmp_path: Path):
    code = """
import os, sys
from pathlib import Path
from helpers.serve.__main__ import main

def fails(fork=os.fork):
    if os.path.exists(os.path.join(sys.argv[1], "no_more_processes")):
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()

os.fork, sys.argv[1:4] = fails, []
main()
"""
    (tmp_path / "m").write_bytes(model(tmp_path, 1))
    with serve(tmp_path, workers=2, command=(sys.executable, "-c", code)) as running:
        (tmp_path / "no_more_processes").touch()
        first, second = psutil.Process(running.pid).children()
        first.kill()
        time.sleep(1)
        assert second.is_running()
        (tmp_path / "no_more_processes").unlink()
        assert until(lambda: len([w for w in psutil.Process(running.pid).children() if w.status() != "zombie"]) == 2)
        assert {tuple(read(running.address).json["digits"]) for _ in range(8)} == {tuple(expected(1))}
