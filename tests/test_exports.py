"""The count of exports agrees with what Python refuses while there are any."""

import mmap
import sys

import numpy as np
import pytest

from helpers.lessons.lifetimes.owners import COUNTING, exports

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="only CPython's objects are known"
)
EACH = pytest.mark.parametrize("kind", COUNTING, ids=lambda kind: kind.__name__)


@EACH
def test_a_view_is_one_export_and_its_slices_are_no_more(kind):
    owner = COUNTING[kind]()
    assert exports(owner) == 0
    view = memoryview(owner)
    part = view[2:]
    again = memoryview(view)
    assert exports(owner) == 1
    other = np.frombuffer(owner, np.uint8)
    assert exports(owner) == 2
    view.release(), again.release()
    assert exports(owner) == 2
    part.release()
    assert exports(owner) == 1
    del other
    assert exports(owner) == 0


@EACH
def test_an_array_made_around_the_count(kind):
    owner = COUNTING[kind]()
    hidden = np.ndarray(8, np.uint8, buffer=owner)
    assert hidden.base is owner
    assert exports(owner) == 0
    around = np.ndarray(8, np.uint8, buffer=memoryview(owner))
    assert exports(owner) == 0
    assert around.base is owner


def test_the_count_is_what_refuses():
    for owner, change in (
        (bytearray(8), lambda one: one.append(1)),
        (mmap.mmap(-1, 4096), mmap.mmap.close),
    ):
        views = [memoryview(owner) for _ in range(3)]
        while exports(owner):
            with pytest.raises(BufferError):
                change(owner)
            views.pop()
        assert not views
        change(owner)
        assert exports(owner) == 0


def test_what_keeps_no_count_has_none():
    for one in (b"abc", memoryview(b"abc"), np.zeros(3), "abc", [1], None):
        assert exports(one) is None


def test_where_no_single_word_counts_there_is_no_count(monkeypatch):
    monkeypatch.setitem(COUNTING, bytes, lambda: b"12345678")
    assert exports(b"12345678") is None
