"""Which version of a model does a request get, and when is an old one unmapped?

Each request asks the file's name where it leads now (stat(2)). So as soon as a new file has taken the name, every
request to any worker gets it. A request borrows a yoke of its version: it ends on the version it began on, and the last
one to end unmaps it. No request waits until others have ended.

What takes long is done in a thread: to open a version, and to let go of one. (The last munmap(2) of a deleted file
frees its pages: a tenth of a second for 512 MiB.) What has begun goes on meanwhile, and only those that came for the
new version wait until it is open. They all wait for one task, so waiting takes no thread.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..ideas.yoke import Yoke
from ..ideas.yoke_cache import YokeCache
from ..units import GiB, MiB
from .model_store import Key, Superseded, opened, version_at
from .validation import Refused

SMALL = 4 * MiB  # what is let go of in a millisecond, and needs no thread


class Versions:
    """The versions that this process has open. What they take of its own memory stays within `capacity` bytes."""

    def __init__(self, capacity: int = 2 * GiB) -> None:
        self.cache: YokeCache[Key] = YokeCache(capacity, opened, Key.weight)
        self.opening: dict[Key, asyncio.Task[Yoke]] = {}

    async def lend(self, path: Path, backend: str, own: Path | None = None) -> tuple[str, Yoke]:
        """The version that `path` leads to, and a yoke of it, the caller's to give back."""
        while True:
            key = Key(path, version_at(path), backend, own, version_at(own) if own else "")
            if not key.version:
                raise Refused(404, f"there is no model {path.name}")
            if own and not key.own_version:
                raise Refused(404, "there is no such tenant")
            if (yoke := self.cache.kept(key)) is not None:
                return key.version, yoke
            try:
                return key.version, (await asyncio.shield(self._task(key))).clone()
            except Superseded:
                continue

    def give_back(self, yoke: Yoke) -> None:
        """Releases a yoke, perhaps the last of its version."""
        if yoke.size < SMALL:
            yoke.release()
        else:
            asyncio.get_running_loop().run_in_executor(None, yoke.release)

    def _task(self, key: Key) -> asyncio.Task[Yoke]:
        """Opens a version, for all who wait for it. It goes on if one of them goes."""
        if key not in self.opening:
            task = self.opening[key] = asyncio.create_task(asyncio.to_thread(self._open, key))
            task.add_done_callback(lambda _: self.opening.pop(key))
        return self.opening[key]

    def _open(self, key: Key) -> Yoke:
        """A yoke. If it doesn't fit, others make room. MemoryError if that's not enough."""
        self.drop_outdated()
        yoke = None
        with suppress(MemoryError):
            yoke = self.cache.get(key)
        if yoke is None:  # not within an `except`: its traceback would keep what was copied until then
            self.let_go()
            yoke = self.cache.get(key)
        return yoke

    def drop_outdated(self) -> None:
        """Drops what a name no longer leads to. It's unmapped when the last request on it ends."""
        self._drop(Key.outdated)

    def let_go(self) -> None:
        """Drops copies and tenants' weights, to make room."""
        self._drop(Key.private)

    def _drop(self, which: Callable[[Key], bool]) -> None:
        for key in filter(which, self.cache.keys()):
            self.cache.drop(key)
