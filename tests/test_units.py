"""Sizes and times, as people write them."""

import re

import numpy as np
import pytest
from tables import each_of

from helpers.show.words import amount
from helpers.units import GiB, KiB, MiB, in_words, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("256 MiB", 256 * MiB),
        ("1GiB", GiB),
        ("1.5 kib", 1536),
        ("7", 7),
        ("1_000 B", 1000),
        (2**40 + 1, 2**40 + 1),
    ],
)
def test_a_size_as_people_write_it(text, expected):
    assert size(text) == expected
    assert type(size(np.int64(5))) is int


@pytest.mark.parametrize("text", ["8 MB", "MiB", "", "1..5 MiB", "-1 MiB", -1, "1e3"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="size"):
        size(text)


@pytest.mark.parametrize("text", [2.5, True, None])
def test_what_is_no_whole_number(text):
    with pytest.raises(TypeError, match="isn't a size; write a whole number of bytes"):
        size(text)


@each_of(
    ("value", "unit", "words"),
    (256 * MiB, "bytes", "256 MiB"),
    (MiB - 100, "bytes", "1 MiB"),
    (1023 * KiB, "bytes", "1,023 KiB"),
    (-3 * GiB, "bytes", "-3 GiB"),
    (0, "bytes", "0 B"),
    (65536, "count", "65,536"),
    (999.7 * MiB, "bytes", "1,000 MiB"),
    (0.0123, "seconds", "0.012 s"),
    (8.2e-05, "seconds", "82 µs"),
    (61.2, "seconds", "61 s"),
    (None, "bytes", "not measured here"),
)
def test_in_words(value, unit, words):
    assert in_words(value, unit) == words


@pytest.mark.parametrize("unit", ["bytes", "count", "seconds", "share", "time", "pages"])
def test_no_amount_is_in_scientific_notation(unit):
    words = [amount(9.996 * 10.0**power, unit) for power in range(-9, 13)]
    assert not [each for each in words if re.search(r"\de[-+]", each)]
