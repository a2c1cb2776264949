"""Pages, the page cache, advice, sharing, where: what's reported is what the kernel has, page by
page.
"""

import itertools
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import pytest
from tables import each_of

from helpers.measure import (
    PageState,
    abilities,
    advise,
    drop_from_cache,
    maps,
    page_cache,
    page_map,
    regions,
    where,
)
from helpers.measure.cache import PageCache
from helpers.measure.machine import here
from helpers.measure.maps import files_in_memory
from helpers.measure.pages import PageMap
from helpers.measure.sharing import Sharing, sharing
from helpers.units import NOT_MEASURED, MiB

PAGE = mmap.PAGESIZE
PAGES = 64
ABSENT, FILE, SHARED, ANONYMOUS, FORKED = (PageState(i) for i in range(5))
CHOSEN = [0, 3, 17, 18, 40, PAGES - 1]
pytestmark = [
    pytest.mark.measured,  # the kernel may take a page from the page cache at any time
    pytest.mark.skipif(bool(maps.why_not()), reason=maps.why_not() or "pages can be read"),
]


@pytest.fixture
def file(disk: Path) -> Path:
    """A file that's on the disk, with page k filled with k."""
    path = disk / "a file.bin"
    with open(path, "wb") as out:
        out.write(b"".join(bytes([k]) * PAGE for k in range(PAGES)))
        out.flush()
        os.fsync(out.fileno())
    return path


@pytest.fixture
def private(file) -> Iterator[mmap.mmap]:
    with open(file, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
        yield mapping


@pytest.fixture
def bare() -> Iterator[mmap.mmap]:
    """Anonymous private memory, without huge pages, which would bring in a page's neighbours."""
    with mmap.mmap(-1, PAGES * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as mapping:
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            mapping.madvise(mmap.MADV_NOHUGEPAGE)
        yield mapping


def write(memory, pages, value: int = 255) -> None:
    for page in pages:
        memory[page * PAGE] = value


def on_a_disk(path: Path) -> None:
    if (system := here(path).file_system) in ("tmpfs", "ramfs"):
        pytest.skip(f"a file on {system} is nowhere but in memory")


def evicted(path: Path) -> None:
    on_a_disk(path)
    seen = drop_from_cache(path)
    assert seen.count == 0
    assert seen.why == ""


# --- maps -----------------------------------------------------------------------------------------
def test_a_region_is_found_by_address_with_its_file(file, private):
    private[0]
    region = page_map(private).region
    assert (Path(region.path), region.kind, region.offset) == (file, "file", 0)
    assert region.permissions[:2] == "rw"
    assert not region.shared
    assert not region.deleted
    assert region.inode == file.stat().st_ino
    assert region.end - region.start == PAGES * PAGE
    file.unlink()
    assert page_map(private).region.deleted


def test_what_is_in_memory_of_a_folders_files(tmp_path):
    path = tmp_path / "with a space"
    size = 64 * mmap.PAGESIZE
    path.write_bytes(bytes(size))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        path.unlink()
        ((region, held),) = files_in_memory(tmp_path)
        assert (region.end - region.start, region.deleted, held["Rss"]) == (size, True, 0)
        assert not max(mapping[:: mmap.PAGESIZE])
        ((_, held),) = files_in_memory(tmp_path)
        assert held["Rss"] == held["Pss"] == size
        assert not held["Anonymous"]
        assert files_in_memory(tmp_path / "other") == ()


def test_the_kinds_of_regions_are_told(bare):
    assert page_map(bare).region.kind == "anonymous"
    with mmap.mmap(-1, PAGE) as shared:
        region = page_map(shared).region
        assert region.kind == "shared memory"
        assert region.shared
        assert not region.deleted
    found = regions()
    assert {"file", "anonymous", "stack", "kernel"} <= {region.kind for region in found}
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert regions(os.getpid())[0] == found[0]


def test_no_such_process_is_said():
    (gone := subprocess.Popen([sys.executable, "-c", "pass"])).wait()
    for ask in (
        regions,
        lambda pid: page_map(pid=pid, address=PAGE, size=1),
        lambda pid: sharing([pid]),
    ):
        with pytest.raises(ProcessLookupError, match=f"no process {gone.pid}"):
            ask(gone.pid)
    for word in ("gone", 1.5):
        with pytest.raises(ValueError, match="is not a process; write its number"):
            regions(word)
    assert sharing([np.int64(os.getpid())]).rows[0].pid == os.getpid()


@each_of(
    ("line", "kind"),
    ("7f00-7f10 rw-s 00000000 00:01 4 /memfd:weights (deleted)", "shared memory"),
    ("7f00-7f10 rw-p 00000000 00:05 4 /dev/zero", "anonymous"),
    ("7f00-7f10 rw-p 00000000 00:00 0 [anon:malloc]", "anonymous"),
    ("7f00-7f10 rw-p 00000000 00:00 0 [heap]", "heap"),
)
def test_each_line_of_maps_has_its_kind(line, kind):
    region = maps._region(line)
    assert region.kind == kind
    assert (region.start, region.end) == (0x7F00, 0x7F10)
    assert not region.deleted


# --- page maps ------------------------------------------------------------------------------------
def test_exactly_the_written_pages_of_a_private_mapping_are_anonymous(private):
    view = memoryview(private)
    for page in range(PAGES):
        view[page * PAGE]
    assert page_map(view).counts == {FILE: PAGES}
    write(private, CHOSEN)
    seen = page_map(private)
    assert seen.which(ANONYMOUS).tolist() == CHOSEN
    assert seen.counts == {FILE: PAGES - len(CHOSEN), ANONYMOUS: len(CHOSEN)}
    assert seen.present == seen.count(FILE, ANONYMOUS) == PAGES
    view.release()


def test_the_page_of_zeros_is_nobodys_alone(bare):
    bare[5 * PAGE]
    assert page_map(bare).count(ANONYMOUS) == 0
    assert page_map(bare).which(FORKED).tolist() == [5]
    write(bare, [5])
    assert page_map(bare).which(ANONYMOUS).tolist() == [5]


def test_shared_memory_is_told_from_files(file):
    with mmap.mmap(-1, PAGES * PAGE) as shared:
        write(shared, CHOSEN)
        assert page_map(shared).which(SHARED).tolist() == CHOSEN
        assert page_map(shared).count(FILE, ANONYMOUS) == 0
    with open(file, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        write(mapping, [2])
        assert page_map(mapping).states[2] == FILE
        assert page_map(mapping).count(SHARED, ANONYMOUS) == 0
    with open(f"/proc/self/fd/{os.memfd_create('weights')}", "r+b") as f:
        f.truncate(PAGE)
        with mmap.mmap(f.fileno(), PAGE) as mapping:
            mapping[0] = 1
            assert page_map(mapping).states.tolist() == [SHARED]


def test_an_array_counts_from_its_lowest_to_its_highest_byte(bare):
    whole = np.frombuffer(bare, np.uint8)
    for view, first, pages in (
        (whole[PAGE - 1 : PAGE + 1], 0, 2),
        (whole[PAGE : 2 * PAGE], 1, 1),
        (whole[::-1], 0, PAGES),
        (whole[3 * PAGE :: 2 * PAGE], 3, PAGES - 3),
        (whole.reshape(PAGES, PAGE)[4:6, 10:20], 4, 2),
        (memoryview(bare)[5 * PAGE : 9 * PAGE : 2], 5, 4),
        (whole.view(np.float64)[512:513], 512 * 8 // PAGE, 1),
    ):
        seen = page_map(view)
        assert (seen.address // PAGE - whole.ctypes.data // PAGE, len(seen)) == (first, pages)
    assert len(page_map(b"abc")) <= 2
    assert page_map(bytearray(b"abc")).count(ANONYMOUS) >= 1
    del whole, view  # or the mapping can't be closed


def test_looking_brings_nothing_in(bare, file):
    for _ in range(3):
        assert page_map(bare).present == 0
    evicted(file)
    with open(file, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        where(mapping), page_map(mapping), page_cache(file)
        assert page_map(mapping).present == 0
        assert page_cache(file).count == 0


@each_of(
    ("args", "options", "kind", "message"),
    ([[1, 2]], {}, TypeError, "list shows no bytes"),
    ([b""], {}, ValueError, "an empty bytes has no bytes"),
    ([], {"address": PAGE, "size": -1}, ValueError, "no pages in -1 bytes"),
    ([], {"address": 1 << 100, "size": 1}, ValueError, "nothing is mapped"),
    ([], {"address": 0, "size": 1 << 62}, ValueError, "nothing can be mapped"),
    ([], {"pid": os.getpid()}, TypeError, "give a buffer"),
    ([b"x"], {"pid": os.getpid()}, TypeError, "a buffer is this process's own"),
)
def test_page_map_rejects_what_it_cannot_look_at(args, options, kind, message):
    with pytest.raises(kind, match=message):
        page_map(*args, **options)


def test_a_closed_mapping_and_a_released_view_have_no_pages():
    closed = mmap.mmap(-1, PAGE)
    released = memoryview(b"abc")
    closed.close()
    released.release()
    for nothing in (closed, released):
        with pytest.raises(ValueError, match="no longer shows any bytes"):
            page_map(nothing)


def test_pages_caches_and_sharings_survive_json(bare, file):
    write(bare, CHOSEN)
    unseen = PageMap(None, why="no such system")
    uncached = PageCache(file, 5, None, "why not")
    for kind, plain in (
        (PageMap, page_map(bare)),
        (PageMap, unseen),
        (PageCache, page_cache(file)),
        (PageCache, uncached),
        (Sharing, sharing([os.getpid()])),
    ):
        text = json.dumps(plain.to_json())
        again = kind.from_json(json.loads(text))
        assert repr(again) == repr(plain)
        assert again.why == plain.why
        assert str(file.parent) not in text
        with pytest.raises(ValueError, match="not a 'zero-copy "):
            kind.from_json({})
    assert np.array_equal(PageMap.from_json(page_map(bare).to_json()).states, page_map(bare).states)
    for runs in ({}, {"runs": 5}, {"runs": [[9, 1]]}):
        with pytest.raises(
            ValueError, match=r"a damaged .zero-copy page map|9 is not a valid PageState"
        ):
            PageMap.from_json({"format": "zero-copy page map", "version": 1, **runs})


def test_where_pages_cannot_be_read_the_result_says_so(monkeypatch, bare):
    reason = "no pages on this system"
    monkeypatch.setattr(maps, "why_not", lambda: reason)
    pages = page_map(bare)
    at = where(bare)
    assert (pages.states, pages.present, pages.count(FILE), pages.which(FILE)) == (None,) * 4
    assert at.memory == NOT_MEASURED
    assert at.states.states is None
    assert reason in repr(pages)
    assert reason in repr(at)
    assert reason in at._repr_html_()
    assert sharing([os.getpid()]).missing == ("sharing",)
    assert not {row.meter: row.here for row in abilities().rows}["page states"]


# --- the page cache -------------------------------------------------------------------------------
def test_a_file_just_written_is_dirty_until_it_is_synced(disk: Path):
    on_a_disk(disk)
    (path := disk / "written").write_bytes(bytes(PAGES * PAGE))
    if page_cache(path).dirty is None:
        pytest.skip(page_cache(path).why)
    with open(path, "r+b") as f:
        os.fsync(f.fileno())
        assert page_cache(path).dirty == 0
        f.seek(5 * PAGE)
        f.write(b"edited")
        f.flush()
        one = page_cache(path)
    # pages that the kernel keeps as one folio count together
    assert 1 <= one.dirty + one.writeback <= PAGES
    assert one.dirty_pages[5]
    assert one.dirty_pages.sum() == one.dirty
    assert drop_from_cache(path).count == 0


def test_pages_that_are_mapped_stay_and_it_is_said_who_has_them(file):
    with open(file, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        advise(mapping, "populate_read")
        seen = drop_from_cache(file)
        assert seen.count == PAGES
        assert f"{PAGES} pages stay: mapped by this process" in seen.why
        command = [sys.executable, "-c", HOLD, str(file)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as ready:
            ready.stdout.readline()
            assert f"({ready.pid})" in drop_from_cache(file).why
            ready.stdin.close()
    evicted(file)


HOLD = """
import mmap, sys
with open(sys.argv[1], "rb") as f:
    mapping = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
mapping[0]
print("ready", flush=True)
sys.stdin.read()
"""


# --- advice ---------------------------------------------------------------------------------------
def test_dontneed_discards_the_edits_of_the_stretch_alone(private):
    write(private, [1, 2, 3])
    advise(private, "dontneed", 2 * PAGE, PAGE)
    assert [private[page * PAGE] for page in (1, 2, 3)] == [255, 2, 255]
    advise(memoryview(private)[PAGE:], "dontneed")
    assert [private[page * PAGE] for page in (1, 2, 3)] == [1, 2, 3]


def test_a_page_that_is_not_ours_alone_is_not_thrown_away(private):
    write(private, range(4))
    for start, length in ((PAGE + 1, PAGE - 1), (PAGE, PAGE + 1), (0, 10)):
        with pytest.raises(ValueError, match="share a page"):
            advise(private, "dontneed", start, length)
    assert [private[page * PAGE] for page in range(4)] == [255] * 4


def test_errors_of_advice_name_it(private):
    with pytest.raises(ValueError, match="no advice 'soon'; there are: normal, random"):
        advise(private, "soon")
    # a hole cannot be made in a private mapping
    with pytest.raises(OSError, match="madvise 'remove'"):
        advise(private, "remove")
    for start, length in ((-1, None), (0, 0), (0, PAGES * PAGE + 1), (PAGES * PAGE, None)):
        with pytest.raises(ValueError, match="are not in a buffer"):
            advise(private, "normal", start, length)


# --- where ----------------------------------------------------------------------------------------
def test_a_view_of_a_mapping_lies_in_the_file_at_its_offset(file, private):
    numbers = np.frombuffer(private, np.uint8)[5 * PAGE + 3 : 9 * PAGE]
    numbers[0], numbers[-1]
    at = where(numbers)
    assert (at.memory, at.path, at.offset, at.size) == ("file", file, 5 * PAGE + 3, 4 * PAGE - 3)
    assert at.address == numbers.ctypes.data
    assert len(at.states) == 4
    assert at.states.present == page_map(numbers).present
    assert at.owners[0][0] == "ndarray"
    assert at.owners[-1][0] == "mmap"
    assert at.writable
    for text in (repr(at), at._repr_html_()):
        assert "file: a file.bin, from byte 20,483" in text or PAGE != 4096
        assert "mmap: a mapping of" in text
    del numbers


def test_the_kinds_of_memory_are_told(bare):
    assert where(bare).memory == where(np.frombuffer(bare, np.uint8)).memory == "anonymous mapping"
    assert where(np.ones(64 * MiB // 8)).memory == "heap"  # malloc maps blocks of this size
    assert where(b"abc" * 1000).memory == where(bytearray(10)).memory == "heap"
    with mmap.mmap(-1, PAGE) as shared:
        at = where(shared)
        assert (at.memory, at.path, at.offset) == ("shared memory", None, None)
    segment = shared_memory.SharedMemory(create=True, size=PAGE)
    try:
        at = where(segment.buf)
        assert at.memory == "shared memory"
        assert at.path == Path("/dev/shm") / segment.name.lstrip("/")
        assert at.writable
    finally:
        segment.close()
        segment.unlink()


def test_writable_is_of_the_view_and_of_the_mapping(private, file):
    view = np.frombuffer(private, np.uint8)
    view.flags.writeable = False
    at = where(view)
    assert not at.writable
    assert at.reason == "a read-only view"
    assert "no: a read-only view" in repr(at)
    with open(file, "r+b") as f, mmap.mmap(f.fileno(), 0) as shared:
        assert "yes: everybody who maps it sees it" in repr(where(shared))
    assert "yes: into a page of this process alone" in repr(where(private))
    at = where(np.memmap(file, mode="r"))
    assert (at.writable, at.reason) == (False, "a read-only view of a read-only mapping")
    del view


# --- sharing --------------------------------------------------------------------------------------
def test_shared_memory_is_not_counted_as_a_file():
    before = sharing({"me": os.getpid()})
    with mmap.mmap(-1, 32 * MiB) as memory:
        memory[:] = bytes(32 * MiB)
        after = sharing({"me": os.getpid()})
    assert after.total("rss") - before.total("rss") > 31 * MiB
    assert after.total("file") - before.total("file") < 8 * MiB
