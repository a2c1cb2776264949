"""Yoke, carts and YokeCache: what is refused, what stays alive, what goes, and that nothing
leaks.
"""

import gc
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.ideas.carts import Cart, MappedFile, cart_of
from helpers.ideas.yoke import Yoke
from helpers.ideas.yoke_cache import YokeCache

PAGE = mmap.PAGESIZE
LINUX = sys.platform == "linux"


def whole(view: memoryview) -> memoryview:
    return view


def floats(view: memoryview) -> np.ndarray:
    return np.frombuffer(view, "f4")


def rows(folder: Path, number: int) -> Yoke:
    return Yoke.attach(MappedFile(folder / str(number)), floats)


def held(folder: Path) -> list[str]:
    """The files in `folder` that this process has mapped or open; empty where there is no /proc."""
    if not LINUX:
        return []
    inside = f"{folder}/"
    maps = Path("/proc/self/maps").read_text()
    mapped = (
        [line[line.index("/") :] for line in maps.splitlines() if inside in line]
        if inside in maps
        else []
    )
    opened = [
        os.path.realpath(f"/proc/self/fd/{descriptor}")
        for descriptor in os.listdir("/proc/self/fd")
    ]
    return [name for name in mapped + opened if name.startswith(inside)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of random floats, of 1, 2 and 3 pages and a bit; `nothing_leaks` fails if one
    stays open.
    """
    folder = tmp_path_factory.mktemp("carts")
    for number in range(3):
        random = np.random.default_rng(number).random((number + 1) * PAGE // 4 + 5, "f4")
        (folder / str(number)).write_bytes(random.tobytes())
    return folder


@pytest.fixture(autouse=True)
def nothing_leaks(folder: Path) -> Iterator[None]:
    yield
    assert held(folder) == []


@pytest.mark.parametrize("make", [bytes, bytearray])
def test_carts_of_what_others_made(make: Callable[[bytes], bytes | bytearray]):
    owner = make(bytes(range(64)))
    cart = cart_of(owner)
    assert isinstance(cart, Cart)
    assert cart.size == 64
    assert cart_of(cart) is cart
    view = cart.lend()
    assert view.readonly
    assert view.nbytes == 64
    assert view[5] == 5
    assert np.may_share_memory(floats(view), np.frombuffer(owner, "f4"))
    Yoke.attach(owner, whole).release()
    assert owner[5] == 5
    cart.close()
    cart.close()
    with pytest.raises(ValueError, match="has nothing to lend"):
        cart.lend()
    assert view[5] == 5, "a view that escaped stays valid"


def test_a_bytearray_cannot_grow_while_lent():
    owner = bytearray(b"abcdefgh")
    with Yoke.attach(owner, whole) as view:
        with pytest.raises(BufferError, match="cannot be re-sized"):
            owner.append(1)
        owner[0] = 0  # the export count doesn't forbid that
        assert view[0] == 0
    del view
    owner.append(1)
    assert len(owner) == 9


@pytest.mark.parametrize("function", [whole, floats, lambda view: np.ndarray(4, "f4", buffer=view)])
def test_a_mapping_cannot_be_closed_while_lent(function: Callable):
    """The third keeps view.obj, not the view: if view.obj were the mapping, nothing would count the
    array.
    """
    with mmap.mmap(-1, PAGE) as mapping:
        mapping[:4] = np.float32(3).tobytes()
        yoke = Yoke.attach(mapping, function)
        view = yoke.get()
        yoke.release()
        with pytest.raises(BufferError, match="cannot close exported pointers exist"):
            mapping.close()
        assert memoryview(view).cast("B")[:4] == mapping[:4] == np.float32(3).tobytes()
        del view
    assert mapping.closed


def test_wrong_carts_are_refused():
    for wrong in ("text", [1], memoryview(b"view"), None, np.zeros(3)):
        with pytest.raises(TypeError, match=f"{type(wrong).__name__} isn't a cart: pass the owner"):
            Yoke.attach(wrong, whole)


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    rows: object


def ring(view: memoryview) -> list:
    found: list = [1]
    found += [found, view[1:]]
    return found


BORROWING: list[Callable] = [
    whole,
    floats,
    lambda v: v[3:7],
    lambda v: v[:0],
    lambda v: v[::2],
    lambda v: v.cast("I"),
    lambda v: v.obj,
    lambda v: floats(v)[::-1].reshape(2, -1).T,
    lambda v: floats(v).view("f2"),
    lambda v: memoryview(floats(v))[::3],
    lambda v: np.asarray(v),
    lambda v: (1, "two", v),
    lambda v: {"a": [{"b": (v,)}]},
    lambda v: floats(v)[:0],
    lambda v: Document("t", [Document("u", floats(v))]),
    lambda v: np.ndarray(2, buffer=v),
    ring,
]


@pytest.mark.parametrize(
    "make", [MappedFile, Path.read_bytes, lambda path: bytearray(path.read_bytes())]
)
def test_views_are_accepted(folder: Path, make: Callable):
    (folder / "even").write_bytes(bytes(range(64)))
    for function in BORROWING:
        with Yoke.attach(make(folder / "even"), function) as value:
            assert value is not None
    del value
    gc.collect()  # collects the ring


REFUSED = {
    "bytes owns its bytes, so it's a copy. Return a view": bytes,
    "bytearray owns its bytes, so it's a copy": bytearray,
    "ndarray owns its bytes, so it's a copy": lambda v: floats(v) + 1,
    "int has no buffer": len,
    "this ndarray is a view of another owner's bytes (ndarray)": lambda v: floats(v).copy()[1:],
    "this memoryview is a view of another owner's bytes (bytes)": lambda v: memoryview(bytes(v)),
    "none of the 2 values in this tuple is a view of the cart (bytes owns": lambda v: (
        bytes(v),
        2,
    ),
    "none of the 0 values in this dict is a view of the cart. Return": lambda v: {},
    "none of the 2 values in this Document is a view of the cart (str has": lambda v: Document(
        "t", floats(v).copy()
    ),
    "has no buffer, and only tuples, lists, dicts and dataclasses are searched": lambda v: (
        SimpleNamespace(view=v)
    ),
    "operation forbidden on released memoryview": lambda v: v.release() or v,
}


@pytest.mark.parametrize("words", REFUSED)
def test_copies_are_refused(folder: Path, words: str):
    file = MappedFile(folder / "0")
    with pytest.raises(ValueError) as refusal:
        Yoke.attach(file, REFUSED[words])
    assert words in str(refusal.value)
    assert not file.closed, "the caller's again"
    file.close()
    del refusal
    assert file.closed


def test_a_function_that_fails_leaves_nothing_lent(folder: Path):
    file = MappedFile(folder / "0")
    with pytest.raises(ZeroDivisionError) as failure:
        Yoke.attach(file, lambda view: len(view) // 0)
    del failure
    assert not file.closed

    def hasty(view: memoryview) -> np.ndarray:
        with view:
            return np.ndarray(4, "f4", buffer=view)

    with Yoke.attach(file, hasty) as view:  # it releases a view of its own
        assert view.tobytes() == (folder / "0").read_bytes()[:16]
    del view
    file.close()
    assert file.closed


def test_used_up_and_released(folder: Path):
    def part(view: np.ndarray) -> np.ndarray:
        return view[2:4]

    used = rows(folder, 0)
    gone = rows(folder, 0)
    with pytest.raises(
        ValueError, match=r"sum's result doesn't borrow from the cart.*float32 owns"
    ):
        used.map_project(np.sum)
    assert used.get().size, "as it was"
    part_of_it = used.map_project(part)
    assert part_of_it.get().shape == (2,)
    assert "Yoke(part: MappedFile(" in repr(part_of_it)
    gone.release()
    for yoke in (used, gone):
        for use in (Yoke.get, Yoke.clone, lambda y: y.map_project(part), lambda y: y.size):
            with pytest.raises(ValueError, match=r"this yoke \(floats\) was released"):
                use(yoke)
        yoke.release()
        assert repr(yoke) == "Yoke(floats: released)"


def test_owned():
    yoke = Yoke.owned([1, 2])
    assert yoke.get() == [1, 2]
    assert repr(yoke) == "Yoke(owned: no cart)"
    assert yoke.size == sys.getsizeof([1, 2])
    assert yoke.clone().map_project(sum).get() == 3
    with yoke as value:
        assert value == [1, 2]
    with pytest.raises(ValueError, match="released"):
        yoke.get()


def test_last_yoke_closes_the_file_and_an_escaped_view_keeps_it_mapped(folder: Path):
    file = MappedFile(folder / "1")
    head = Yoke.attach(file, whole)
    tail = Yoke.attach(file, floats)
    again = tail.clone()
    tail.release()
    escaped = head.get()[:1]
    del head
    assert file.lend().nbytes == file.size, "one yoke is left"
    again.release()
    with pytest.raises(
        ValueError, match=r"1 was given up, by its last yoke or by close\(\): map it again"
    ):
        file.lend()
    assert not file.closed
    assert escaped[0] == (folder / "1").read_bytes()[0]
    del escaped
    assert file.closed
    assert repr(file).endswith("KiB, closed)")
    file.close()


def test_cart_attached_again_while_it_closes():
    class Again:
        size, again, closed = 3, None, 0

        def lend(self) -> memoryview:
            return memoryview(b"abc")

        def close(self) -> None:
            self.closed += 1
            if self.closed == 1:
                self.again = Yoke.attach(self, whole)

    cart = Again()
    Yoke.attach(cart, whole).release()
    assert cart.closed == 1
    assert cart.again.get() == b"abc"
    cart.again.release()
    assert cart.closed == 2


def test_a_cart_that_raises_while_a_view_is_out(folder: Path):
    class Hasty:
        """A cart like a student's, not one of this package: close() raises instead of waiting."""

        def __init__(self) -> None:
            self.mapping = mmap.mmap(-1, PAGE)
            self.size = PAGE

        def lend(self) -> memoryview:
            return memoryview(self.mapping).toreadonly()

        def close(self) -> None:
            self.mapping.close()

    cart = Hasty()
    yoke = Yoke.attach(cart, whole)
    view = yoke.get()
    yoke.release()
    assert view[0] == 0
    assert not cart.mapping.closed
    del view
    Yoke.attach(cart, whole).release()
    assert cart.mapping.closed, "its own view is gone before it closes"


def test_to_release_what_get_gave_takes_it_from_nobody_else():
    yoke = Yoke.attach(bytes(64), whole)
    clone = yoke.clone()
    yoke.get().release()
    with yoke as view:
        view.release()
    assert clone.get().nbytes == 64


STEPS = [
    "attach",
    "clone",
    "move",
    "drop",
    "release",
    "project",
    "escape",
    "forget",
    "cached",
    "collect",
    "again",
]
STEP = st.tuples(st.sampled_from(STEPS), st.integers(0, 2), st.integers(0, 63))


@given(st.lists(STEP, min_size=5, max_size=30))
@settings(max_examples=20, deadline=None)
def test_a_view_equals_a_copy_made_at_attach(folder: Path, steps: list[tuple[str, int, int]]):
    copies = [np.fromfile(folder / str(number), "f4") for number in range(3)]
    cache = YokeCache(4 * PAGE, partial(rows, folder))
    names: list[list] = []  # (a list or dict around a yoke, its key, what its view must equal)
    views: list[tuple[np.ndarray, np.ndarray]] = []
    for what, number, at in steps:
        if what == "attach":
            names.append([[rows(folder, number)], 0, copies[number]])
        elif what == "cached":
            names.append([[cache.get(number)], 0, copies[number]])
        elif what == "collect":
            gc.collect()
        elif what == "forget" and views:
            views.pop(at % len(views))
        elif names:
            place = at % len(names)
            around, key, copy = names[place]
            yoke = around[key]
            if what == "clone":
                names.append([(yoke.clone(),), 0, copy])
            elif what == "move":
                names[place] = [
                    {"in": yoke} if number else [None, yoke],
                    "in" if number else 1,
                    copy,
                ]
            elif what == "escape":
                views.append((yoke.get()[number:], copy[number:]))
            elif what == "again":  # another yoke of the same cart
                cart = yoke._loan.cart
                assert not cart.closed
                names.append([[Yoke.attach(cart, floats)], 0, copies[int(cart.path.name)]])
                del cart
            elif what == "project" and len(copy) > 1:
                names[place] = [[yoke.map_project(lambda view: view[1:])], 0, copy[1:]]
            elif what in ("release", "drop"):
                names.pop(place)
                if what == "release":
                    yoke.release()
            del around, yoke
        assert all(np.array_equal(around[key].get(), copy) for around, key, copy in names)
        assert all(np.array_equal(view, copy) for view, copy in views)
        assert cache.size <= cache.capacity
        if not names and not views:
            assert len(held(folder)) == 2 * len(cache) * LINUX
    cache.close()
    names.clear()
    views.clear()
    assert held(folder) == []


def test_the_cache_keeps_what_was_used_last(folder: Path):
    sizes = [(folder / str(number)).stat().st_size for number in range(3)]
    with YokeCache(sizes[1] + sizes[2], partial(rows, folder)) as cache:
        for number in (0, 1, 0, 2):  # 2 doesn't fit beside both; 1 was used longest ago
            with cache.get(number) as view:
                assert view.nbytes == sizes[number]
        assert 2 in cache
        assert 1 not in cache
        assert 0 in cache
        assert (cache.hits, cache.misses, cache.evictions) == (1, 3, 1)
        assert len(cache) == 2
        assert cache.size == sizes[0] + sizes[2]
        assert repr(cache).startswith("YokeCache(2 yokes, 16 KiB of") or PAGE != 4096
        assert repr(cache).endswith("1 hits, 3 misses, 1 evictions)")
    with pytest.raises(ValueError, match="this YokeCache is closed"):
        cache.get(0)
    assert len(cache) == cache.size == 0


def test_errors_of_make(folder: Path):
    cache = YokeCache("1 MiB", lambda key: b"no yoke")
    with pytest.raises(TypeError, match=r"make\('key'\) returned bytes, not a Yoke"):
        cache.get("key")
    assert (len(cache), cache.misses) == (0, 1)
    with pytest.raises(ValueError, match="isn't a size"):
        YokeCache("1 MB", bytes)

    def breaks(number: int) -> Yoke:
        yoke = rows(folder, number)
        raise OSError(f"the disk has gone, at {yoke.get()[0]}")

    gc.disable()
    try:
        with pytest.raises(OSError, match="the disk has gone"):
            YokeCache("1 MiB", breaks).get(1)
        assert held(folder) == [], "no ring of the error and its frames keeps what make had mapped"
    finally:
        gc.enable()


def in_threads(work: Callable[[int], object], numbers: Iterable[int]) -> list:
    """What work(number) returned or raised, each in a thread of its own."""
    found: list = []

    def call(number: int) -> None:
        try:
            found.append(work(number))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=call, args=(number,), daemon=True) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    return found


def test_a_key_that_several_threads_want_is_made_once(folder: Path):
    calls = []

    def make(number: int) -> Yoke:
        calls.append(number)
        time.sleep(0.2)  # the others ask meanwhile
        if number == 0:
            raise OSError("the disk has gone")
        return rows(folder, number)

    def ask(number: int) -> int:
        with cache.get(number) as view:
            return view.nbytes

    with YokeCache("1 MiB", make) as cache:
        results = in_threads(ask, (0, 1, 1, 1))
        assert sorted(calls) == [0, 1]
        assert (cache.misses, cache.hits) == (2, 2)
        assert sorted(map(str, results)) == [str((folder / "1").stat().st_size)] * 3 + [
            "the disk has gone"
        ]


def test_kept_lends_without_making_and_drop_leaves_clones_alone(folder: Path):
    with YokeCache("1 MiB", partial(rows, folder)) as cache:
        assert cache.kept(0) is None
        assert (cache.misses, cache.hits) == (0, 0)
        cache.get(0).release()
        cache.get(1).release()
        clone = cache.kept(0)
        assert (cache.misses, cache.hits, cache.keys()) == (2, 1, [1, 0])
        cache.drop(0)
        cache.drop("nothing")
        assert cache.keys() == [1]
        assert cache.size == (folder / "1").stat().st_size
        assert clone.get().tobytes() == (folder / "0").read_bytes()
        clone.release()


def test_eight_threads_and_evictions(folder: Path):
    copies = [np.fromfile(folder / str(number), "f4") for number in range(3)]

    def work(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, 3, 100):
            with cache.get(number) as view:
                assert np.array_equal(view, copies[number]), f"{number} is not as it was"

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with YokeCache(4 * PAGE, partial(rows, folder)) as cache:
            assert in_threads(work, range(8)) == [None] * 8
            assert cache.hits + cache.misses == 800
            assert cache.evictions > 0
            assert cache.size <= cache.capacity
    finally:
        sys.setswitchinterval(interval)
