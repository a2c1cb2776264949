"""Cow: a borrowed value is never written, and is copied only when somebody asks, and only once."""

import copy
import doctest
import mmap
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from helpers.ideas import cow as module
from helpers.ideas.cow import Cow, to_owned

few = settings(max_examples=80, deadline=None)


def mapped(content: bytes) -> mmap.mmap:
    mapping = mmap.mmap(-1, max(1, len(content)))
    mapping[: len(content)] = content
    return mapping


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Arrays of many dtypes: sliced, with steps and backwards, transposed, read-only."""
    dtype = draw(
        st.one_of(
            nps.integer_dtypes(),
            nps.floating_dtypes(),
            nps.boolean_dtypes(),
            nps.datetime64_dtypes(),
        )
    )
    array = draw(
        nps.arrays(dtype, nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6))
    )
    if array.ndim:
        array = array[draw(nps.basic_indices(array.shape, allow_ellipsis=False))]
    array = np.asarray(array).T if draw(st.booleans()) else np.asarray(array)
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


buffers = st.builds(
    lambda kind, content: kind(content),
    st.sampled_from(
        [bytes, bytearray, mapped, memoryview, lambda content: memoryview(bytearray(content))[::-1]]
    ),
    st.binary(max_size=40),
)
# like st.text(), which first tries to encode a million
text = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.one_of(
    text,
    st.lists(st.integers()).map(tuple),
    st.dictionaries(text, st.integers()),
    st.dictionaries(st.integers(), text).map(MappingProxyType),
)
actions = st.lists(st.sampled_from(["read", "repr", "to_mut", "write"]), max_size=8)


def frozen(value: Any) -> Any:
    """What `value` holds, in a form that nothing can change."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, bytes | bytearray | memoryview | mmap.mmap):
        return bytes(value)
    if isinstance(value, dict | MappingProxyType):
        return tuple(value.items())
    return tuple(value) if isinstance(value, tuple | list) else str(value)


def change(value: Any) -> None:
    """Writes into an owned value."""
    if isinstance(value, np.ndarray):
        value[...] = np.array(1).astype(value.dtype)
    elif isinstance(value, bytearray):
        value[:] = b"changed"
    elif isinstance(value, dict):
        value["changed"] = value.pop("changed", 0)
    elif isinstance(value, list):
        value.append("changed")
    else:
        assert isinstance(value, str), f"a {type(value).__name__} is owned, which nobody can write"


@few
@given(st.one_of(arrays(), buffers, plain), actions)
def test_the_source_stays_and_is_cloned_once_on_demand(source: Any, wanted: list[str]):
    before = frozen(source)
    cow = Cow.borrowed(source)
    lent = cow.value
    owned = None
    for action in wanted:
        assert cow.is_borrowed is (owned is None)
        assert cow.value is (lent if owned is None else owned)
        if action == "repr":
            assert repr(cow).startswith("Cow.borrowed(" if owned is None else "Cow.owned(")
            assert "\n" not in repr(cow)
            assert len(repr(cow)) <= 90
        elif action == "to_mut":
            owned = cow.to_mut()
        elif action == "write":
            owned = cow.to_mut()
            change(owned)
    last = cow.into_owned()
    assert last is owned if owned is not None else frozen(last) == before
    assert frozen(source) == before
    assert frozen(lent) == before


def shared(one: Any, other: Any) -> bool:
    def array(value: Any) -> np.ndarray:
        if isinstance(value, np.ndarray):
            return value
        # a contiguous view as bytes: numpy doesn't know every format, such as c_wchar's
        view = memoryview(value)
        return np.frombuffer(view, np.uint8) if view.c_contiguous else np.asarray(view)

    return np.shares_memory(array(one), array(other))


@few
@given(st.one_of(arrays(), buffers))
def test_memory_is_shared_until_it_is_cloned(source: Any):
    size = source.nbytes if isinstance(source, np.ndarray) else len(source)
    cow = Cow.borrowed(source)
    other = Cow.borrowed(source)
    assert shared(cow.value, source) == shared(cow.value, other.value) == bool(size)
    owned = cow.to_mut()
    assert not shared(cow.value, source)
    assert not shared(cow.value, other.value)
    assert shared(cow.value, owned) == shared(other.value, source) == bool(size)
    assert Cow.owned(source).value is source


def test_clones_by_type():
    lent = [
        np.arange(3),
        b"ab",
        bytearray(b"ab"),
        memoryview(b"ab"),
        mapped(b"ab"),
        {},
        MappingProxyType({}),
        (1,),
    ]
    assert [type(Cow.borrowed(one).into_owned()) for one in lent] == [
        np.ndarray,
        *[bytearray] * 4,
        dict,
        dict,
        list,
    ]
    text = "größer"
    assert Cow.borrowed(text).into_owned() is text
    assert Cow.borrowed(np.asfortranarray(np.eye(3))).into_owned().flags.f_contiguous


@pytest.mark.parametrize(
    "source", [np.zeros(3), bytearray(3), mapped(b"abc"), memoryview(bytearray(3)), {0: 1}, (1,)]
)
def test_a_borrow_cannot_be_written(source: Any):
    with pytest.raises(
        (ValueError, TypeError), match=r"read-only|does not support item assignment"
    ):
        Cow.borrowed(source).value[0] = 9


def test_a_lender_of_bytes_is_held_while_it_lends():
    lender = bytearray(4)
    cow = Cow.borrowed(lender)
    with pytest.raises(BufferError):
        lender.append(1)
    cow.to_mut()
    lender.append(1)  # the Cow has its own bytes now
    mapping = mapped(b"abc")
    cow = Cow.borrowed(mapping)
    with pytest.raises(BufferError, match="exported pointers exist"):
        mapping.close()
    cow.into_owned()
    mapping.close()


@pytest.mark.parametrize(
    "source",
    [
        [1, 2],
        {1, 2},
        frozenset({1}),
        3.0,
        None,
        # a view or a clone would not do them justice: a second buffer, reading that writes, a clone
        # that's a plain dict
        np.ma.masked_array([1, 2, 3], [0, 0, 0]),
        defaultdict(list),
        OrderedDict(),
        Counter(),
        MappingProxyType(defaultdict(list)),
        MappingProxyType(MappingProxyType(Counter())),
    ],
)
def test_what_has_no_read_only_view_is_refused_with_advice(source: Any):
    with pytest.raises(
        TypeError, match=rf"{type(source).__name__} has no read-only view.*tuple.*Cow\.owned"
    ):
        Cow.borrowed(source)
    assert Cow.owned(source).to_mut() is source


def test_what_cannot_be_cloned_is_refused_with_advice():
    with pytest.raises(TypeError, match=r"to_owned\.register"):
        to_owned({1, 2})


def test_a_copy_of_a_cow_owns_its_own_value():
    array = np.zeros(2)
    for owned in (array, [0, 0], bytearray(2), {0: 0}):
        one = Cow.owned(owned)
        copy.copy(one).to_mut()[0] = 1
        assert one.value is owned
        assert owned[0] == 0
    one = Cow.borrowed(array)
    other = copy.copy(one)
    assert other.is_borrowed
    assert shared(other.value, array)
    other.to_mut()[0] = 1
    assert one.is_borrowed
    assert array[0] == 0
    one.into_owned()
    with pytest.raises(ValueError, match="used up"):
        copy.copy(one)


def test_another_type_is_taught_in_one_place():
    class Frozen(frozenset):
        pass

    clones = []
    to_owned.register(Frozen, lambda lent: clones.append(set(lent)) or clones[-1])
    source = Frozen({1, 2})
    cow = Cow.borrowed(source)
    assert cow.value is source
    assert cow.is_borrowed
    assert "Frozen" in repr(cow)
    assert not clones
    cow.to_mut().add(3)
    assert cow.into_owned() == {1, 2, 3}
    assert source == {1, 2}
    assert len(clones) == 1


def test_a_cow_that_was_used_up():
    (cow := Cow.borrowed(np.zeros(2))).into_owned()
    for use in (lambda: cow.value, lambda: cow.is_borrowed, cow.to_mut, cow.into_owned):
        with pytest.raises(ValueError, match=r"into_owned\(\) used up this Cow"):
            use()
    assert repr(cow) == "Cow(used up)"


def test_the_repr_is_short_and_reads_no_big_value():
    assert repr(Cow.borrowed(np.array([1.0, 2.0]))) == "Cow.borrowed(array([1., 2.]))"
    assert repr(Cow.owned({"a": 1})) == "Cow.owned({'a': 1})"
    assert (
        repr(Cow.borrowed(mmap.mmap(-1, 2**30)))
        == "Cow.borrowed(memoryview of 1,073,741,824 bytes)"
    )


def test_the_examples_run():
    found = doctest.testmod(module)
    assert found.attempted > 10
    assert not found.failed


def test_ideas_bring_numpy_and_nothing_else():
    said = (
        "import sys, numpy, helpers.ideas.cow, helpers.ideas.dispatch, helpers.ideas.yoke_cache; "
    )
    said += "helpers.ideas.cow.Cow.borrowed(numpy.zeros(3)); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "numpy" in loaded
    assert (
        not {"numpy.ma", "matplotlib", "IPython", "psutil", "ipywidgets", "helpers.measure"}
        & loaded
    )
