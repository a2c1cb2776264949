"""The model server: nobody waits until another model is opened, or an old one unmapped. And what a
worker keeps.
"""

import asyncio
import json
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving import PICTURES, expected, model

from helpers.ideas.carts import MappedFile
from helpers.ideas.yoke import Yoke
from helpers.serve.versions import SLOT, Versions, opened

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
    (new := path.parent.parent / "next").write_bytes(model(path.parent.parent, turn, LARGE))
    os.replace(new, path)


async def comes(true: Callable[[], Any], seconds: float = 10) -> Any:
    """Waits until `true()` is true, and lets the event loop go on."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return found


def test_an_old_version_is_not_dropped_on_the_event_loop(path: Path, unmapped: list):
    async def main() -> None:
        versions = Versions()
        (await versions.lend(path, "mapped"))[1].release()
        assert not unmapped
        swap(path, 2)
        await versions.lend(path, "mapped")
        assert await comes(lambda: unmapped)
        assert unmapped[0] is not threading.main_thread()

    asyncio.run(main())


def test_waiting_for_a_version_takes_no_thread(path: Path):
    go = threading.Event()
    made = []

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
        assert len(made) == 1
        assert {tuple(yoke.get().read(PICTURES[:20])) for yoke in yokes} == {tuple(expected(1))}
        assert not versions.opening

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
