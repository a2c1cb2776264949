"""An upload in parts: whatever breaks, what arrives is the whole file or nothing."""

import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, InvalidURL
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tables import each_of

from helpers.ideas import upload as client
from helpers.ideas.inbox import Inbox, Server, receive
from helpers.ideas.upload import checksum, read_and_send, upload

BYTES = bytes(range(256)) * 40


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "inbox").mkdir()
    with Server(tmp_path / "inbox", largest_part=20_000) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (path := tmp_path / "model.bin").write_bytes(BYTES)
    return path


def address(server: Server) -> str:
    return f"127.0.0.1:{server.server_address[1]}"


def there(server: Server) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in server.folder.iterdir()}


def put(
    server: Server, name: str = "/model.bin", body: bytes = BYTES, **headers: str | None
) -> tuple[int, str]:
    """A PUT of the whole file; `headers` replaces some of its headers, or leaves them out
    (None).
    """
    path = server.folder.parent / "model.bin"
    usual = {
        "Repr_Digest": checksum(path),
        "Content_Range": f"bytes 0-{len(BYTES) - 1}/{len(BYTES)}",
    }
    line = HTTPConnection(address(server), timeout=5)
    line.request(
        "PUT", name, body, {key.replace("_", "-"): v for key, v in (usual | headers).items() if v}
    )
    answer = line.getresponse()
    line.close()
    return answer.status, answer.reason


class Broken:
    """Sends parts, but hangs up once, after `sent` bytes of part number `which`."""

    def __init__(self, which: int, sent: int):
        self.which, self.sent, self.parts = which, sent, []

    def __call__(self, line: socket.socket, file, at: int, count: int) -> None:
        self.parts.append((at, count))
        if len(self.parts) == self.which:
            read_and_send(line, file, at, self.sent)
            line.shutdown(socket.SHUT_RDWR)
        read_and_send(line, file, at, count)


@pytest.mark.parametrize("part", [999, 1024, len(BYTES), 10**6])
def test_parts_of_any_size_arrive(server: Server, source: Path, part: int):
    upload(source, address(server), part)
    assert there(server) == {"model.bin": BYTES}
    assert server.received == len(BYTES)


def test_complete_file_is_reported_with_its_size(server: Server, source: Path):
    def told() -> tuple[str, str]:
        line.request("HEAD", "/model.bin", headers={"Repr-Digest": checksum(source)})
        headers = line.getresponse().headers
        return headers["Upload-Offset"], headers["Upload-Complete"]

    put(server, body=BYTES[:3000], Content_Range=f"bytes 0-2999/{len(BYTES)}")
    with closing(HTTPConnection(address(server), timeout=5)) as line:
        assert told() == ("3000", "?0")
    upload(source, address(server))
    with closing(HTTPConnection(address(server), timeout=5)) as line:
        assert told() == (str(len(BYTES)), "?1")


@pytest.mark.parametrize("name", ["größe.bin", "a?b#c"])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_a_name_is_quoted(server: Server, source: Path, name: str):
    odd = source.rename(source.with_name(name))
    with pytest.raises(
        ValueError, match=r"refuses .*: 404 the path must be a file's name: up to 100 letters"
    ):
        upload(odd, address(server))
    upload(odd, address(server), to="/model.bin")
    assert there(server) == {"model.bin": BYTES}


def test_receive_ends_with_the_file_and_not_before(tmp_path: Path, source: Path):
    (tmp_path / "inbox").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    received = []
    thread = threading.Thread(
        target=lambda: received.append(receive(tmp_path / "inbox", port)), daemon=True
    )
    thread.start()
    upload(source, f"127.0.0.1:{port}", 1000, Broken(5, 500))  # two connections
    thread.join(5)
    assert received == [len(BYTES) + 500]


@pytest.mark.parametrize(("which", "sent"), [(1, 500), (5, 0), (11, 100)])
def test_a_lost_connection_costs_a_part_at_most(
    server: Server, source: Path, which: int, sent: int
):
    send = Broken(which, sent)
    upload(source, address(server), 1000, send)
    assert there(server) == {"model.bin": BYTES}
    assert server.received == len(BYTES) + sent
    assert send.parts[which - 1] == send.parts[which], "the same part again, and no other"
    assert len(send.parts) == 12


def test_what_was_collected_and_not_yet_checked_is_checked(server: Server, source: Path):
    put(server, body=BYTES[:3000], Content_Range=f"bytes 0-2999/{len(BYTES)}")
    (parts,) = server.folder.iterdir()
    parts.write_bytes(BYTES)  # as after a crash just before the rename
    upload(source, address(server))
    assert there(server) == {"model.bin": BYTES}
    assert server.received == 3001


def test_what_is_there_is_not_sent_again_and_a_new_version_replaces_it(
    server: Server, source: Path
):
    upload(source, address(server))
    upload(source, address(server))
    assert server.received == len(BYTES)
    source.write_bytes(b"new")
    upload(source, address(server))
    assert there(server) == {"model.bin": b"new"}


@each_of(
    ("wrong", "status", "why"),
    ({"Content_Range": None}, 400, "Content-Range"),
    ({"Content_Range": "bytes 0-10239/*"}, 400, "Content-Range"),
    ({"Content_Range": "bytes 0-10239/10239"}, 400, "Content-Range"),
    ({"Content_Range": "bytes 1-10240/20000"}, 409, "byte 0 comes next, not 1"),
    ({"Repr_Digest": None}, 400, "Repr-Digest"),
    ({"Repr_Digest": f"sha-256=:{'A' * 43}=:"}, 422, "checksum is wrong"),
    ({"name": "/../model.bin"}, 404, "a file's name"),
    ({"name": "/.model.bin.part"}, 404, "a file's name"),
    ({"name": "/folder"}, 404, "a file's name"),
    ({"name": "/" + "x" * 101}, 404, "a file's name"),
    ({"body": bytes(20_001), "Content_Range": "bytes 0-20000/20001"}, 413, "at most 20000 bytes"),
)
def test_wrong_request_leaves_nothing(
    server: Server, source: Path, wrong: dict, status: int, why: str
):
    (server.folder / "model.bin").write_bytes(b"old")
    (server.folder / "folder").mkdir()
    told = put(server, **wrong)
    (server.folder / "folder").rmdir()
    assert told[0] == status
    assert why in told[1]
    assert there(server) == {"model.bin": b"old"}
    upload(source, address(server))
    assert there(server)["model.bin"] == BYTES


@pytest.mark.parametrize("reset", [False, True])
def test_half_a_part_is_not_kept(
    server: Server, source: Path, reset: bool, capfd: pytest.CaptureFixture
):
    with socket.create_connection(server.server_address) as line:
        told = f"PUT /model.bin HTTP/1.1\r\nRepr-Digest: {checksum(source)}\r\n"
        line.sendall(
            f"{told}Content-Range: bytes 0-99/100\r\nContent-Length: 100\r\n\r\nhalf".encode()
        )
        if reset:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            line.shutdown(socket.SHUT_WR)
            assert line.recv(1) == b""
    assert there(server) == {}
    assert server.received in (0, 4)
    upload(source, address(server))
    assert there(server) == {"model.bin": BYTES}
    assert capfd.readouterr().err == ""


@pytest.mark.measured
def test_silent_client_is_cut_off(server: Server, source: Path, monkeypatch: pytest.MonkeyPatch):
    assert Inbox.timeout == client.TIMEOUT_S
    monkeypatch.setattr(Inbox, "timeout", 0.05)
    with socket.create_connection(server.server_address) as line:
        line.settimeout(5)
        assert line.recv(1) == b""
    upload(source, address(server))
    assert there(server) == {"model.bin": BYTES}


def test_a_part_that_cannot_be_written(server: Server, source: Path):
    os.rmdir(server.folder)
    with pytest.raises(ValueError, match=r"refuses model.bin: 507 No such file or directory"):
        upload(source, address(server))


def test_a_server_that_refuses_before_it_has_read_is_heard(server: Server, source: Path):
    source.write_bytes(bytes(8_000_000))
    with pytest.raises(ValueError, match=r"refuses model.bin: 413 a part has at most 20000 bytes"):
        upload(source, address(server), 8_000_000)
    assert there(server) == {}


def test_files_that_cannot_be_sent(server: Server, source: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "WAITS", (0, 0))
    source.write_bytes(b"")
    with pytest.raises(ValueError, match=r"model.bin is empty"):
        upload(source, address(server))
    with pytest.raises(ValueError, match=r"a part has at least one byte, not -5"):
        upload(source, address(server), -5)
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        free = f"127.0.0.1:{nobody.getsockname()[1]}"
    source.write_bytes(BYTES)
    with pytest.raises(
        ConnectionError, match=f"no connection to {free} that lasts: ConnectionRefusedError"
    ):
        upload(source, free)
    with pytest.raises(ConnectionError, match=r"no connection to nowhere\.invalid:1 that lasts"):
        upload(source, "nowhere.invalid:1")
    with pytest.raises(InvalidURL, match="/my model"):
        upload(source, address(server), to="/my model")
    with pytest.raises(FileNotFoundError):
        upload(source.with_name("none"), address(server))

    def shorter(line: socket.socket, file, at: int, count: int) -> None:
        os.truncate(source, 100)
        read_and_send(line, file, at, count)

    with pytest.raises(ValueError, match="got shorter meanwhile: byte 100 is gone"):
        upload(source, address(server), send=shorter)
    assert there(server) == {}


@each_of(
    ("offset", "why"),
    (None, "how much of model.bin has arrived: its Upload-Offset is '', not 0 to"),
    ("many", "its Upload-Offset is 'many'"),
    ("-5", "its Upload-Offset is '-5'"),
    (str(len(BYTES) + 1), "its Upload-Offset is"),
    ("7", "had 7 bytes of model.bin, and now has 7"),
)
def test_server_that_is_no_inbox_is_recognised(source: Path, offset: str | None, why: str):
    class Other(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            if offset is not None:
                self.send_header("Upload-Offset", offset)
            self.end_headers()

        do_PUT = do_HEAD

        def log_message(self, *_) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with pytest.raises(ValueError, match=why):
            upload(source, f"127.0.0.1:{other.server_port}")
        other.shutdown()
