"""YokeCache: keeps the most recently used yokes, as many as fit, and serves several threads."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ..units import in_words, size
from .carts import Closing
from .yoke import Yoke

K = TypeVar("K", bound=Hashable)


class YokeCache(Closing, Generic[K]):
    """Yokes by key. `make(key)` makes a missing yoke; the least recently used go when the yokes
    outgrow the capacity.

    get() returns a clone: `with cache.get(key) as view`. The cache may drop its own yoke meanwhile;
    the cart closes when the last clone is released. The cache releases the yokes that make(key)
    returns.

    weigh(key, yoke)         the bytes that a yoke counts for; if not given, all bytes in its cart
    size                     what all kept yokes count for; a cart that two of them share counts
                             twice
    hits, misses, evictions  get() calls that called no make, and those that did; yokes dropped to
                             make room
    """

    def __init__(
        self,
        capacity: int | str,
        make: Callable[[K], Yoke],
        weigh: Callable[[K, Yoke], int] = lambda key, yoke: yoke.size,
    ) -> None:
        self.capacity = size(capacity)
        self.make = make
        self.weigh = weigh
        self.size = self.hits = self.misses = self.evictions = 0
        self._kept: OrderedDict[K, tuple[Yoke, int]] = OrderedDict()
        self._closed = False
        # held for look-ups only, never while make runs or a cart closes
        self._lock = threading.RLock()
        # one make at a time: whoever wants the same key finds it made
        self._making = threading.RLock()

    def get(self, key: K) -> Yoke:
        """A clone, the caller's to release. A yoke that counts for more than the capacity isn't
        kept.
        """
        if (clone := self.kept(key)) is not None:
            return clone
        with self._making:
            if (clone := self.kept(key)) is not None:
                return clone
            if self._closed:
                raise ValueError("this YokeCache is closed: make a new one")
            self.misses += 1
            yoke = self.make(key)
            if not isinstance(yoke, Yoke):
                what = type(yoke).__name__
                raise TypeError(
                    f"make({key!r}) returned {what}, not a Yoke: use Yoke.attach or Yoke.owned"
                )
            weight = self.weigh(key, yoke)
            clone = yoke.clone()
            dropped = []
            with self._lock:
                if self._closed or weight > self.capacity:
                    dropped.append(yoke)
                else:
                    self._kept[key] = yoke, weight
                    self.size += weight
                while self.size > self.capacity:
                    _, (oldest, freed) = self._kept.popitem(last=False)
                    self.size -= freed
                    self.evictions += 1
                    dropped.append(oldest)
            for old in dropped:
                old.release()
            return clone

    def kept(self, key: K) -> Yoke | None:
        """A clone of the kept yoke, the caller's to release; None if there's none. It neither makes
        one nor waits.
        """
        with self._lock:
            if key not in self._kept:
                return None
            self.hits += 1
            self._kept.move_to_end(key)
            return self._kept[key][0].clone()

    def keys(self) -> list[K]:
        """The keys of the kept yokes, the least recently used first."""
        with self._lock:
            return list(self._kept)

    def drop(self, key: K) -> None:
        """Releases the kept yoke of `key`, if there's one; clones in use stay valid. The next get()
        makes it anew.
        """
        with self._lock:
            yoke, weight = self._kept.pop(key, (None, 0))
            self.size -= weight
        if yoke is not None:
            yoke.release()

    def close(self) -> None:
        """Releases every kept yoke; clones in use stay valid. From now on get() raises."""
        with self._lock:
            self._closed = True
            kept = self._kept
            self._kept = OrderedDict()
            self.size = 0
        for yoke, _ in kept.values():
            yoke.release()

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def __repr__(self) -> str:
        full = (
            f"{len(self)} yokes, {in_words(self.size, 'bytes')} of "
            f"{in_words(self.capacity, 'bytes')}"
        )
        return (
            f"YokeCache({full}; {self.hits} hits, {self.misses} misses, {self.evictions} evictions)"
        )
