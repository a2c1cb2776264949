"""YokeCache: the yokes used last, as many as fit, for several threads at once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

from ..units import in_words, size
from .yoke import Yoke

K = TypeVar("K", bound=Hashable)


class YokeCache(Generic[K]):
    """Yokes by key, made by `make(key)` where missing; those used longest ago go when their carts' bytes do not fit.

    get() hands out a clone: `with cache.get(key) as view`. The cache may drop its own yoke of that cart meanwhile; the
    cart is closed when the clones in use are released. make(key) hands its yoke over: the cache releases it. make must
    not ask this cache: two threads whose makes want each other's key would wait for ever.

    size                    bytes of the carts of all yokes kept; a cart that two of them share is counted twice
    hits, misses, evictions of get(): answered without a call of make, or by one; yokes dropped for want of room
    """

    def __init__(self, capacity: int | str, make: Callable[[K], Yoke]) -> None:
        self.capacity, self.make = size(capacity), make
        self.size = self.hits = self.misses = self.evictions = 0
        self._kept: OrderedDict[K, tuple[Yoke, int]] = OrderedDict()
        self._making: dict[K, tuple[Future, int]] = {}  # what others wait for, and the thread that makes it
        self._closed = False
        self._lock = threading.RLock()  # held for look-ups only; never while make runs or a cart is closed

    def get(self, key: K) -> Yoke:
        """A clone, the caller's to release. make runs once for a key at a time: who asks meanwhile waits for it.

        What make raises is raised to all of them, and not kept: the next get() tries again. A cart larger than the
        capacity is handed out, not kept. ValueError if the cache is closed; RuntimeError if make asks, for any key.
        """
        with self._lock:
            if any(maker == threading.get_ident() for _, maker in self._making.values()):
                raise RuntimeError(f"make asks this cache for {key!r}: make it of something else, or of another cache")
            if self._closed:
                raise ValueError("this YokeCache is closed")
            if key in self._kept:
                self.hits += 1
                self._kept.move_to_end(key)
                return self._kept[key][0].clone()
            first = key not in self._making
            if first:
                self.misses += 1
                self._making[key] = Future(), threading.get_ident()
            promise, _ = self._making[key]
        try:
            if first:
                return self._made(key, promise)
            clone = promise.result().clone()
        finally:
            del promise  # an error's traceback holds this frame, the promise the error: a ring that would keep views
        with self._lock:
            self.hits += 1
        return clone

    def _made(self, key: K, promise: Future) -> Yoke:
        try:
            yoke = self.make(key)
            if not isinstance(yoke, Yoke):
                raise TypeError(f"make({key!r}) returned {type(yoke).__name__}, no Yoke: use Yoke.attach or .owned")
            weight, mine, others = yoke.size, yoke.clone(), yoke.clone()
        except BaseException as error:
            with self._lock:
                del self._making[key]
            promise.set_exception(error)
            del promise
            raise
        gone = []
        with self._lock:
            del self._making[key]
            if self._closed or weight > self.capacity:
                gone.append(yoke)
            else:
                self._kept[key] = yoke, weight
                self.size += weight
            while self.size > self.capacity:
                _, (oldest, freed) = self._kept.popitem(last=False)
                self.size -= freed
                self.evictions += 1
                gone.append(oldest)
        promise.set_result(others)  # a yoke of those who wait: it lives as long as the promise
        for one in gone:
            one.release()
        return mine

    def close(self) -> None:
        """Releases every yoke kept; clones in use stay valid. get() raises from now on."""
        with self._lock:
            self._closed = True
            kept, self._kept, self.size = self._kept, OrderedDict(), 0
        for yoke, _ in kept.values():
            yoke.release()

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def __enter__(self) -> "YokeCache[K]":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        full = f"{in_words(self.size, 'bytes')} of {in_words(self.capacity, 'bytes')}"
        return (
            f"YokeCache({len(self)} yokes, {full}; {self.hits} hits, {self.misses} misses, {self.evictions} evictions)"
        )
