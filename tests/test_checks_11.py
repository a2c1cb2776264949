"""Lesson 11's checks: a kill at every call, each order of lending, the lesson's own server, and
recorded workers.
"""

import mmap
import os
import socket
import sys
import time
import tomllib
from http.client import HTTPConnection
from io import BytesIO
from itertools import cycle
from pathlib import Path

import pytest
from serving import ask, model, part, sha

from helpers.make import random_file
from helpers.measure import maps
from helpers.serve import serve
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import NotYet
from helpers.units import MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

CHECKED = ("cache", "publish", "report", "resume")
cache, publish, report, resume = (check(exercise(f"11.{name}").folder) for name in CHECKED)
linux = pytest.mark.skipif(sys.platform != "linux" or bool(maps.why_not()), reason="no /proc here")
posix = pytest.mark.skipif(os.name == "nt", reason="the server forks its workers")


def solved(key: str):
    one = exercise(key)
    return one.made(one.solution_source)


def test_every_call_that_touches_a_file_is_a_moment_to_be_killed_at(tmp_path: Path):
    def steps(path: str) -> None:
        file = open(path, "wb")  # noqa: SIM115  some Pythons count the `__exit__` of a `with`, others don't
        file.write(b"1")
        len("not a file")
        os.fsync(file.fileno())
        file.close()
        os.remove(path)

    moments = []
    path = f"{tmp_path}/file"
    sys.setprofile(publish.calls(moments.append))
    steps(path)
    sys.setprofile(None)
    assert moments == list(range(6)), "open, write, fileno, fsync, close, remove"


def test_the_old_name_with_other_bytes_is_not_called_the_old_file(tmp_path: Path):
    (tmp_path / publish.NAME).write_bytes(b"other")
    with pytest.raises(NotYet, match="got other bytes in it"):
        publish.failed({"full": "OSError"}, tmp_path, b"the old file's digest")


def test_the_tables_of_orders_say_what_a_plain_simulation_says():
    for order, (lent, wanted) in cache.ORDERS.items():
        loans, mapped = [], []  # letters, the most recently lent last
        for what, letter in order.split():
            if what == "+":
                mapped = [each for each in mapped if each != letter] + [letter]
                loans.append(letter)
            else:
                loans.remove(letter)
            while len(mapped) > cache.MOST and (
                idle := [each for each in mapped if each not in loans]
            ):
                mapped.remove(idle[0])
        assert (sorted(loans), sorted(mapped)) == (sorted(lent), sorted(wanted)), order


def test_a_view_that_outlives_its_loan_does_not_hide_the_caller_s_exception(tmp_path: Path):
    one = exercise("11.cache")
    path = random_file(tmp_path / "model", 4096)

    def load(path: Path) -> mmap.mmap:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    for source in (one.solution_source, *(answer.source for answer in one.right)):
        views = []
        lent = one.made(source)(0, load).lend(path)
        with pytest.raises(KeyError), lent as model:
            views.append(memoryview(model))
            raise KeyError


@linux
def test_recorded_workers_are_explained_as_live_ones_are(tmp_path: Path):
    kept = tomllib.loads(
        Path(report.__file__).with_name("recorded.toml").read_text(encoding="utf-8")
    )
    live = report.crowds(tmp_path / "models", kept["sizes"])
    explain = solved("11.report")
    for kind in report.KINDS:
        wanted = report.held(kind, kept["sizes"]), report.WORDS.get(kind, "idle")
        assert explain(kept["folder"], kept["maps"][kind]) == wanted, kind
        assert explain(str(tmp_path / "models"), live[kind]) == wanted, kind


@posix
def test_what_resumes_at_the_check_resumes_at_the_lesson_s_server(tmp_path: Path):
    (path := tmp_path / "m").write_bytes(data := model(tmp_path))
    (tmp_path / "models").mkdir()
    with serve(tmp_path / "models", workers=1) as server:
        refused = cycle([True, False])

        def connect() -> HTTPConnection:
            if next(refused):
                raise ConnectionRefusedError("as from a server that starts again")
            return HTTPConnection(server.address, timeout=20)

        ask(server.address, "PUT", "/models/m", data[:1000], part(data, 0, 1000))
        for _ in range(2):  # the second time, everything is already there
            solved("11.resume")(path, connect)
            assert (tmp_path / "models" / "m").read_bytes() == data
        told = ask(server.address, "HEAD", "/models/m", headers=sha(data)).headers
    assert (told["upload-offset"], told["upload-complete"]) == ("0", "?1")
    with (
        resume.serving([resume.Upload(path, complete=True)]) as server,
        socket.socket(socket.AF_UNIX) as line,
    ):
        line.connect(server.server_address)
        head = "HEAD /models/m HTTP/1.1\r\nConnection: close\r\nRepr-Digest: {Repr-Digest}\r\n\r\n"
        line.sendall(head.format(**sha(data)).encode())
        said = line.makefile().read()
    assert "Upload-Offset: 0\n" in said and "Upload-Complete: ?1\n" in said, (
        "the check's server says the same"
    )


@posix
def test_after_a_slip_the_server_takes_no_line(upload):
    head = b"HEAD /models/file HTTP/1.1\r\n\r\n"  # without a digest
    with (
        resume.serving([upload]) as server,
        pytest.raises((BrokenPipeError, ConnectionRefusedError)),
    ):
        for _ in range(500):
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(server.server_address)
                line.sendall(head)
                time.sleep(0.01)
    assert server.slip.cause == "wrong-digest"


@pytest.fixture
def upload(tmp_path: Path):
    return resume.Upload(
        random_file(tmp_path / "file", MiB), there=100, breaks=(1000, 5000), loses=True
    )


def said(upload, first: int, last: int, **more: str) -> dict[str, str]:
    return {
        "Content-Range": f"bytes {first}-{last}/{MiB}",
        "Content-Length": str(last + 1 - first),
    } | more


def test_the_line_breaks_where_it_is_told_and_the_server_loses_what_it_had_once(upload):
    data = upload.path.read_bytes()
    assert not upload.take(BytesIO(data[100:]), MiB - 1)
    assert (upload.came, upload.there) == (1000, 0)
    assert not upload.take(BytesIO(data), MiB - 1)
    assert (upload.came, upload.there) == (5000, 4000)
    assert upload.take(BytesIO(data[4000:]), MiB - 1)
    assert upload.complete


def test_each_slip_of_a_put_has_its_cause(upload):
    cases = {
        "sent-again": said(upload, 0, MiB - 1),
        "not-asked": said(upload, 101, MiB - 1),
        "wrong-range": said(upload, 100, MiB - 1, **{"Content-Length": "5"}),
        "no-length": {"Content-Length": None},
    }
    for cause, headers in cases.items():
        with pytest.raises(NotYet) as slip:
            upload.part(headers)
        assert slip.value.cause == cause
    with pytest.raises(NotYet, match="a PUT had no `Content-Range` and brought 5 bytes"):
        upload.part({"Content-Length": "5"})
    assert upload.part(said(upload, 100, 199)) == 199
    upload.told = 50
    assert upload.part(said(upload, 50, MiB - 1)) is None, (
        "it asked, and bytes came after the answer"
    )
    with pytest.raises(NotYet, match="had 100 bytes"):
        upload.part(said(upload, 50, MiB - 1))
    with pytest.raises(NotYet) as slip:
        upload.take(BytesIO(bytes(100)), 199)
    assert slip.value.cause == "other-bytes"
