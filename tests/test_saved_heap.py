"""SavedHeap: pairs survive in a file, at their address; at another address, following them kills
the process.
"""

import struct
import sys
from pathlib import Path

import pytest

from helpers.ideas.saved_heap import AT, HEADER, PAIR, SavedHeap, follow
from helpers.measure import measure

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no mmap(2)")
ELSEWHERE = AT + 2**32
MAPS = Path("/proc/self/maps")


def build(path: Path) -> int:
    """Writes three pairs, the last of which leads to the others. Returns the last one's address."""
    with SavedHeap.create(path, 4096) as heap:
        address = 0
        for number in (3, 2, 1):
            address = heap.add(number, address)
        return address


def read(path: Path, first: int, at: int | None = None) -> list[int]:
    with SavedHeap.open(path, at) as heap:
        return list(follow(first - heap.home + heap.base))


def test_another_process_follows_the_addresses(tmp_path: Path):
    first = measure(build, tmp_path / "heap").value
    assert measure(read, tmp_path / "heap", first).value == [1, 2, 3]
    with SavedHeap.open(tmp_path / "heap") as heap:
        assert heap.base == heap.home == AT
        assert heap.last == first
        assert list(follow(heap.add(0, first))) == [0, 1, 2, 3], (
            "it goes on where the other process ended"
        )


def test_a_place_that_is_taken_is_refused_and_not_destroyed(tmp_path: Path):
    first = build(tmp_path / "heap")
    with SavedHeap.open(tmp_path / "heap"):
        mapped = MAPS.read_text().count(str(tmp_path)) if MAPS.exists() else 0
        with pytest.raises(
            FileExistsError, match=f"didn't map it at {AT:#x}: something is there already"
        ):
            SavedHeap.open(tmp_path / "heap")
        assert not mapped or MAPS.read_text().count(str(tmp_path)) == mapped == 1, (
            "what was refused is still mapped"
        )
        assert list(follow(first)) == [1, 2, 3]
    with SavedHeap.open(tmp_path / "heap", ELSEWHERE) as heap:
        assert (heap.base, heap.home) == (ELSEWHERE, AT)
        assert heap.last - ELSEWHERE == first - AT
        heap.add(0)
        assert heap.home == AT


def test_a_new_heap_that_cannot_be_mapped_leaves_the_path_as_it_is(tmp_path: Path):
    first = build(tmp_path / "old")
    with (
        SavedHeap.create(tmp_path / "other", 4096),
        pytest.raises(FileExistsError, match="something is there already"),
    ):
        SavedHeap.create(tmp_path / "old", 4096)
    assert read(tmp_path / "old", first) == [1, 2, 3]
    with pytest.raises(ValueError, match="0x5 isn't an address where a page begins"):
        SavedHeap.create(tmp_path / "new", 4096, at=5)
    with pytest.raises(FileExistsError, match=f"{2**60:#x}: .* no mapping may be"):
        SavedHeap.create(tmp_path / "new", 4096, at=2**60)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("used", [0, 23, 25, 4097, 2**40])
def test_a_damaged_heap_is_refused(tmp_path: Path, used: int):
    build(tmp_path / "heap")
    with open(tmp_path / "heap", "r+b") as file:
        file.seek(16)
        file.write(struct.pack("<Q", used))
    with pytest.raises(ValueError, match=rf"heap is damaged: {used} of its 4096 bytes"):
        SavedHeap.open(tmp_path / "heap")


def test_a_full_heap_keeps_what_it_has(tmp_path: Path):
    with SavedHeap.create(tmp_path / "heap", HEADER.size + PAIR.size) as heap:
        first = heap.add(-(2**63))
        with pytest.raises(MemoryError, match="the heap is full: 40 B of 40 B in use"):
            heap.add(2)
        assert list(follow(first)) == [-(2**63)]


def test_an_empty_heap_has_no_last_pair_and_takes_no_number_of_more_than_64_bits(tmp_path: Path):
    with SavedHeap.create(tmp_path / "heap", 4096) as heap:
        assert heap.last == 0
        assert not list(follow(heap.last))
        with pytest.raises(struct.error):
            heap.add(2**63)
        assert list(follow(heap.add(1))) == [1]


def test_what_is_no_heap_is_refused(tmp_path: Path):
    (tmp_path / "text").write_text("dear diary, " * 4)
    with pytest.raises(ValueError, match="text isn't a saved heap: it begins with b'dear dia'"):
        SavedHeap.open(tmp_path / "text")
    with pytest.raises(
        ValueError, match="a heap of 39 bytes has no room for a pair: take 40 or more"
    ):
        SavedHeap.create(tmp_path / "small", 39)
    assert not (tmp_path / "small").exists()
    build(tmp_path / "heap")
    with pytest.raises(ValueError, match="0x1001 isn't an address where a page begins"):
        SavedHeap.open(tmp_path / "heap", 0x1001)
    with pytest.raises(FileNotFoundError):
        SavedHeap.open(tmp_path / "nowhere")


def test_a_closed_heap_says_so(tmp_path: Path):
    build(tmp_path / "heap")
    (heap := SavedHeap.open(tmp_path / "heap")).close()
    heap.close()
    with pytest.raises(ValueError, match="heap is closed"):
        heap.add(1)
