"""The model server: nobody waits until another model is opened, or an old one unmapped. And what a worker keeps."""

import asyncio
import json
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
import pytest
from serving import PICTURES, expected, model

from helpers.ideas.carts import MappedFile
from helpers.ideas.yoke import Yoke
from helpers.ideas.yoke_cache import YokeCache
from helpers.serve import opening, sending
from helpers.serve.app import Service
from helpers.serve.digits import Digits
from helpers.serve.metrics import Board
from helpers.serve.opening import SLOT, opened
from helpers.serve.versions import Versions
from helpers.serve.workers import look_after

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the server forks its workers")
LARGE = 20_000  # hidden units: 6 MB


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m").write_bytes(model(tmp_path, 1, LARGE))
    return tmp_path / "models" / "m"


@pytest.fixture
def unmapped(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """For each mapping of the model that has gone, the thread that let it go."""
    threads: list[threading.Thread] = []
    mapped = MappedFile.__init__

    def seen(self: MappedFile, file: Path) -> None:
        mapped(self, file)
        if file == path:
            weakref.finalize(self._mapping, lambda: threads.append(threading.current_thread()))

    monkeypatch.setattr(MappedFile, "__init__", seen)
    return threads


def swap(path: Path, turn: int) -> None:
    new = path.parent.parent / "next"
    new.write_bytes(model(path.parent.parent, turn, LARGE))
    os.replace(new, path)


async def comes(true: Callable[[], Any], seconds: float = 10) -> Any:
    """Waits until `true()` is true, and lets the event loop go on."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return found


async def asked(service: Service, method: str, path: str, body: bytes = b"") -> list[dict]:
    """What the server sends, asked without a socket."""
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [], "root_path": ""}
    await service.app(scope, receive, send)
    return sent


def digits_of(sent: list[dict]) -> list[int]:
    return json.loads(sent[1]["body"])["digits"]


# --- letting go -------------------------------------------------------------------------------------------
async def by_a_request_that_comes(path: Path, versions: Versions) -> None:
    await versions.lend(path, "mapped")


async def by_the_worker_itself(path: Path, versions: Versions) -> None:
    server = SimpleNamespace(should_exit=False, server_state=SimpleNamespace(tasks=[None]))
    looking = asyncio.create_task(look_after(server, versions, 0))
    await comes(lambda: not len(versions.cache))
    server.should_exit = True
    await looking


@pytest.mark.parametrize("dropped", [by_a_request_that_comes, by_the_worker_itself])
def test_an_old_version_is_not_dropped_on_the_event_loop(
    path: Path, unmapped: list, dropped: Callable[[Path, Versions], Awaitable[None]]
):
    async def main() -> None:
        versions = Versions()
        (await versions.lend(path, "mapped"))[1].release()
        assert not unmapped
        swap(path, 2)
        await dropped(path, versions)
        assert await comes(lambda: unmapped)
        assert unmapped[0] is not threading.main_thread()

    asyncio.run(main())


def test_the_last_request_on_an_old_version_does_not_unmap_it_on_the_event_loop(
    path: Path, unmapped: list, monkeypatch: pytest.MonkeyPatch
):
    reads, go, pictures, read = [], threading.Event(), PICTURES[:20], Digits.read

    def slow(self: Digits, pictures: np.ndarray) -> np.ndarray:
        reads.append(threading.current_thread())
        assert len(reads) > 1 or go.wait(20)
        return read(self, pictures)

    monkeypatch.setattr(Digits, "read", slow)

    async def main() -> None:
        service = Service(path.parent, Board(1), 0)
        first = asyncio.create_task(asked(service, "POST", "/models/m/answers", pictures.tobytes()))
        try:
            assert await comes(lambda: reads)
            swap(path, 2)
            assert digits_of(await asked(service, "POST", "/models/m/answers", pictures.tobytes())) == expected(2)
            assert not unmapped
        finally:
            go.set()
        assert digits_of(await first) == expected(1)
        assert await comes(lambda: unmapped) and threading.main_thread() not in unmapped

    asyncio.run(main())


def test_a_version_that_goes_while_it_is_opened_is_not_unmapped_on_the_event_loop(
    path: Path, unmapped: list, monkeypatch: pytest.MonkeyPatch
):
    mapped, opened_by = opening.BACKENDS["mapped"], []

    def superseded(path: Path) -> Yoke:
        yoke = mapped(path)
        opened_by.append(threading.current_thread())
        if len(opened_by) == 1:
            swap(path, 2)
        return yoke

    monkeypatch.setitem(opening.BACKENDS, "mapped", superseded)

    async def main() -> None:
        _, yoke = await Versions().lend(path, "mapped")
        assert yoke.get().read(PICTURES[:20]).tolist() == expected(2) and len(opened_by) == 2
        assert unmapped == opened_by[:1]

    asyncio.run(main())


def test_a_download_does_not_close_its_file_on_the_event_loop(path: Path, monkeypatch: pytest.MonkeyPatch):
    closed: list[threading.Thread] = []

    @contextmanager
    def seen(path: Path) -> Iterator[BinaryIO]:
        class Seen:
            def __init__(self, file: BinaryIO) -> None:
                self.fileno, self.seek, self.read, self.file = file.fileno, file.seek, file.read, file

            def close(self) -> None:
                if not self.file.closed:
                    closed.append(threading.current_thread())
                    self.file.close()

        file = Seen(path.open("rb"))
        try:
            yield file
        finally:
            file.close()

    monkeypatch.setattr(sending, "regular_file", seen)

    async def main() -> None:
        sent = await asked(Service(path.parent, Board(1), 0), "GET", "/models/m")
        assert sent[0]["status"] == 200 and threading.main_thread() not in closed and len(closed) == 1

    asyncio.run(main())


# --- opening ----------------------------------------------------------------------------------------------
def test_who_waits_for_a_version_takes_no_thread(path: Path):
    go, made = threading.Event(), []

    def slow(key: Any) -> Yoke:
        made.append(threading.current_thread())
        assert go.wait(20)
        return opened(key)

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        versions = Versions()
        versions.cache.make = slow
        waiting = [asyncio.create_task(versions.lend(path, "copied")) for _ in range(9)]
        try:
            assert await comes(lambda: made)
            await asyncio.wait_for(asyncio.to_thread(len, "another request"), 5)
            waiting[0].cancel()  # whoever came first may go
            await asyncio.sleep(0)
        finally:
            go.set()
        yokes = [yoke for _, yoke in await asyncio.gather(*waiting[1:])]
        assert len(made) == 1 and {tuple(yoke.get().read(PICTURES[:20])) for yoke in yokes} == {tuple(expected(1))}
        assert not versions.opening

    asyncio.run(main())


def test_all_who_wait_for_a_version_hear_what_is_wrong_with_it(path: Path):
    async def main() -> None:
        versions, made = Versions(), []
        os.truncate(path, 9_000)
        versions.cache.make = lambda key: made.append(time.sleep(0.1)) or opened(key)
        said = await asyncio.gather(*(versions.lend(path, "mapped") for _ in range(3)), return_exceptions=True)
        assert [(error.status, "damaged" in error.why) for error in said] == [(503, True)] * 3
        assert len(made) == 1 and not versions.opening

    asyncio.run(main())


def test_one_event_loop_after_another_can_ask(path: Path):
    """As the lesson does: asyncio.run for each loan, also after one that was interrupted."""
    versions, go = Versions(), threading.Event()
    versions.cache.make = lambda key: go.wait(20) and opened(key)

    async def interrupted() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(versions.lend(path, "mapped"), 0.1)
        go.set()

    asyncio.run(interrupted())
    for _ in range(2):
        with asyncio.run(versions.lend(path, "mapped"))[1] as digits:
            assert digits.read(PICTURES[:20]).tolist() == expected(1)


def test_a_version_that_was_just_evicted_is_not_opened_on_the_event_loop(path: Path):
    class Evicts(YokeCache):
        """What is asked for is there, and a moment later it isn't."""

        def __contains__(self, key: object) -> bool:
            self.drop(key)
            return True

    makers = []

    async def main() -> None:
        versions = Versions()
        versions.cache = Evicts(1 << 30, lambda key: makers.append(threading.current_thread()) or opened(key))
        for _ in range(2):
            await versions.lend(path, "mapped")
        assert makers and threading.main_thread() not in makers

    asyncio.run(main())


def test_what_is_kept_is_lent_without_being_made():
    with YokeCache(10, lambda key: Yoke.attach(b"12345", lambda view: view)) as cache:
        assert cache.kept("a") is None and (cache.misses, cache.hits) == (0, 0)
        cache.get("a").release()
        cache.get("b").release()
        with cache.kept("a") as view:
            assert view == b"12345"
        assert (cache.misses, cache.hits, cache.keys()) == (2, 1, ["b", "a"])


# --- what is kept -----------------------------------------------------------------------------------------
def test_a_copy_that_is_on_its_way_out_still_counts(path: Path, monkeypatch: pytest.MonkeyPatch):
    """Or a worker would take it for lost memory, and end (`look_after`)."""
    go, release = threading.Event(), Yoke.release
    monkeypatch.setattr(Yoke, "release", lambda self: go.wait(20) and release(self))

    async def main() -> None:
        versions = Versions()
        versions.give_back(Yoke.attach(path.read_bytes(), lambda view: view))
        counted = versions.copies
        go.set()
        assert counted
        assert await comes(lambda: not versions.copies)

    asyncio.run(main())


def lend_all(versions: Versions, *asked: tuple) -> None:
    async def main() -> None:
        for each in asked:
            (await versions.lend(*each))[1].release()

    asyncio.run(main())


def test_a_mapped_file_takes_none_of_the_capacity(path: Path):
    """Ten tenants of one model: ten times the file is more than the capacity."""
    versions = Versions(10 * SLOT)
    assert 10 * path.stat().st_size > versions.cache.capacity
    tenants = [path.with_name(f".m@{tenant}.json") for tenant in range(10)]
    for tenant in tenants:
        tenant.write_text(json.dumps({"out.bias": [0.0] * 10}))
    for _ in range(3):
        lend_all(versions, *((path, "mapped", tenant) for tenant in tenants))
    assert (versions.cache.hits, versions.cache.misses, versions.cache.evictions) == (20, 10, 0)


@pytest.mark.parametrize("backend", ["mapped", "copied", "half"])
def test_small_versions_do_not_take_all_descriptors(tmp_path: Path, backend: str):
    small = model(tmp_path)
    for number in range(9):
        (tmp_path / f"{number}").write_bytes(small)
    versions = Versions(3 * SLOT)
    lend_all(versions, *((tmp_path / f"{number}", backend) for number in range(9)))
    assert len(versions.cache) == 3


def test_copies_count_in_full(path: Path):
    versions = Versions(3 * SLOT)
    lend_all(versions, (path, "copied"))
    assert versions.cache.size == path.stat().st_size > SLOT
    lend_all(versions, (path, "half"))
    assert versions.cache.size >= path.stat().st_size + SLOT


def test_an_evicted_copy_is_not_counted_as_one(path: Path):
    """Or a worker that has lost its budget would never end (`look_after`)."""
    versions = Versions(2 * SLOT)
    lend_all(versions, (path, "copied"))
    assert versions.copies
    (other := path.with_name("other")).write_bytes(path.read_bytes())
    lend_all(versions, (path, "mapped"))
    lend_all(versions, (other, "mapped"))
    assert versions.cache.evictions and not versions.copies
