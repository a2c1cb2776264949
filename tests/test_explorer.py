"""The page explorer against the kernel: what each action leaves and costs, and that nothing stays
behind.
"""

import errno
import gc
import mmap
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from ipywidgets import Dropdown
from serving import until
from tables import each_of
from test_pages import on_a_disk

from helpers import folders
from helpers.folders import ROOT
from helpers.measure import PageState, maps
from helpers.measure.explorer import Explorer, Film
from helpers.show import page_explorer, page_film

PAGE = mmap.PAGESIZE
ABSENT = PageState.ABSENT
FILE = PageState.FILE
ANONYMOUS = PageState.ANONYMOUS
FORKED = PageState.FORKED
MINE = (ANONYMOUS, FORKED, PageState.SWAPPED)  # what was copied for me, wherever it is now

pytestmark = [
    pytest.mark.measured,  # as in test_pages.py
    pytest.mark.skipif(bool(maps.why_not()), reason=maps.why_not() or "pages can be read"),
]


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    on_a_disk(folders.generated())
    with Explorer(16) as made:
        yield made


def gone(pid: int) -> bool:
    """Is the process gone soon, with not even a zombie left?"""
    return until(lambda: not psutil.pid_exists(pid))


def which(pages, *states: PageState) -> list[int]:
    return pages.which(*states).tolist()


# --- pages ----------------------------------------------------------------------------------------
def test_a_touched_page_is_lent_and_a_written_one_is_mine(explorer: Explorer):
    explorer.advise("random")
    touched = explorer.touch(3)
    assert which(touched.mine, FILE) == [3]
    assert touched.cache.cached.tolist() == [page == 3 for page in range(16)]
    assert touched.value == 3
    written = explorer.write([5, 9, 10])
    assert which(written.mine, ANONYMOUS) == [5, 9, 10]
    assert which(written.mine, FILE) == [3]
    assert explorer.touch([3, 5, 9]).value == (3, 255, 255)
    assert explorer.path.read_bytes()[5 * PAGE] == 5, "a private mapping's edit reached the file"
    dropped = explorer.drop()
    assert (dropped.mine.present, dropped.cache.share) == (0, 1)
    assert explorer.touch(5).value == 5


def test_what_an_action_costs(explorer: Explorer):
    cold = explorer.scan()
    if not cold.device_read_bytes:
        pytest.skip("this file system does not count what the device gives")
    explorer.drop()
    warm = explorer.scan()
    again = explorer.scan()
    assert cold.device_read_bytes >= 0.9 * 16 * PAGE > 10 * warm.device_read_bytes
    assert cold.major >= 1 > warm.major, "the second scan waited for the device"
    assert warm.minor >= 1
    assert again.minor + again.major < 4, "the explorer's own work is counted as the scan's"


# --- a child --------------------------------------------------------------------------------------
def test_a_fork_shares_until_one_writes(explorer: Explorer):
    explorer.write([5, 6])
    forked = explorer.fork()
    assert which(forked.mine, FORKED) == which(forked.child, FORKED) == [5, 6]
    wrote = explorer.child_write(5, 77)
    assert which(wrote.child, ANONYMOUS) == which(wrote.mine, ANONYMOUS) == [5], (
        "the last one to map it owns it"
    )
    assert which(wrote.mine, FORKED) == which(wrote.child, FORKED) == [6]
    assert explorer.child_touch([5, 6]).value == (77, 255)
    assert explorer.touch([5, 6]).value == (
        255,
        255,
    )
    assert wrote.minor >= 1
    assert [step.action for step in explorer.film[2:5]] == [
        "fork",
        "child writes 5",
        "child reads 5 and 6",
    ]


def test_after_a_fork_a_read_of_what_is_there_costs_nothing(explorer: Explorer):
    explorer.scan()
    explorer.write(5)
    costs = []
    for _ in range(3):
        explorer.fork()
        costs.append(
            (explorer.touch(3).minor, explorer.child_touch(3).minor, explorer.write(5).minor)
        )
    mine, child, copied = (min(of) for of in zip(*costs, strict=True))
    assert mine == child == 0, "the interpreter's own copies are counted as the read's"
    assert copied >= 1


def test_page_out_takes_everything_wherever_the_process_ran(explorer: Explorer):
    first = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(first)})  # the asking process is on another processor
    try:
        for _ in range(5):
            explorer.remap(shared=False)
            explorer.advise("random")
            explorer.scan()
            assert os.sched_getaffinity(explorer.pid) == {min(first)}
            assert explorer.page_out().mine.count(FILE) == 0
    finally:
        os.sched_setaffinity(0, first)


def test_a_killed_child_is_said_and_can_be_replaced(explorer: Explorer):
    explorer.fork()
    (child,) = psutil.Process(explorer.pid).children()
    child.kill()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="child has ended"):
            explorer.child_write(1)
    assert explorer.now.child is None
    assert gone(child.pid)
    assert explorer.fork().child is not None


# --- shared and private ---------------------------------------------------------------------------
def test_a_shared_mapping_writes_to_the_file(explorer: Explorer):
    assert explorer.remap(shared=True).mine.present == 0
    assert which(explorer.write(5, 77).mine, *MINE) == []
    assert explorer.path.read_bytes()[5 * PAGE] == 77
    explorer.fork()
    explorer.child_write(6, 78)
    assert explorer.touch(6).value == 78
    explorer.sync()
    explorer.drop()
    evicted = explorer.evict()
    assert evicted.cache.cached.tolist() == (evicted.child.states != ABSENT).tolist(), (
        "more, or less, than is mapped"
    )
    assert explorer.touch([5, 6]).value == (77, 78)


def test_a_remap_that_fails_leaves_what_there_was(explorer: Explorer):
    explorer.write(0, 77)
    explorer.fork()
    os.truncate(explorer.path, 2 * PAGE)
    with pytest.raises(RuntimeError, match="map shared: mmap length"):
        explorer.remap(shared=True)
    assert not explorer.shared
    assert explorer.touch(0).value == explorer.child_touch(0).value == 77
    os.truncate(explorer.path, 16 * PAGE)
    assert explorer.remap(shared=True).mine.present == 0
    assert explorer.shared
    with pytest.raises(RuntimeError, match=r"no forked child; fork\(\)"):
        explorer.child_write(1)


# --- what cannot be done --------------------------------------------------------------------------
@each_of(
    ("action", "wrong", "words"),
    (lambda x: x.touch(16), ValueError, "no page 16; the mapping has pages 0 to 15"),
    (lambda x: x.write([3, -1]), ValueError, "no page -1"),
    (lambda x: x.touch([]), ValueError, "no page given; the mapping has pages 0 to"),
    (lambda x: x.touch(1.5), TypeError, "float"),
    (lambda x: x.write(1, 256), ValueError, "a byte is 0 to 255, not 256"),
    (lambda x: Explorer(0), ValueError, "at least 1 page, not 0"),
    (lambda x: Explorer(1.5), TypeError, "float"),
    (lambda x: x.remap(shared="no"), TypeError, "shared is True or False, not 'no'"),
    (lambda x: x.advise("sometimes"), ValueError, "sometimes"),
)
def test_wrong_orders_change_nothing(
    explorer: Explorer, action: Callable, wrong: type[Exception], words: str
):
    with pytest.raises(wrong, match=words):
        action(explorer)
    assert len(explorer.film) == 1
    assert explorer.now.mine.present == 0


# --- ends -----------------------------------------------------------------------------------------
def test_a_killed_process_is_said_and_closes(explorer: Explorer):
    explorer.fork()
    (child,) = psutil.Process(explorer.pid).children()
    os.kill(explorer.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"has ended \(SIGKILL\); make a new Explorer"):
            explorer.touch(1)
    explorer.close()
    assert gone(explorer.pid)
    assert gone(child.pid)
    assert len(explorer.film) == 2


def test_closing_ends_everything_and_keeps_the_film():
    explorer = Explorer(2)
    explorer.fork()
    (child,) = psutil.Process(explorer.pid).children()
    explorer.close()
    explorer.close()
    assert gone(explorer.pid)
    assert gone(child.pid)
    assert not explorer.path.exists()
    assert len(explorer.film) == 2
    with pytest.raises(RuntimeError, match="closed"):
        explorer.touch(1)


def test_forgetting_it_ends_it():
    explorer = Explorer(2)
    pid = explorer.pid
    del explorer
    gc.collect()
    assert gone(pid)


def test_an_interrupted_remap_is_known_afterwards(explorer: Explorer):
    os.kill(explorer.pid, signal.SIGSTOP)
    threading.Timer(
        0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)
    ).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            explorer.remap(shared=True)
    finally:
        os.kill(explorer.pid, signal.SIGCONT)
    assert explorer.now.mine.present == 0
    assert explorer.shared
    assert "shared" in repr(explorer)


@pytest.mark.parametrize("how", ["killed", "ends"])
def test_nothing_outlives_its_program(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path))
    code = """
import psutil
from helpers.measure.explorer import Explorer
explorer = Explorer(64)
explorer.write(3)
explorer.fork()
print(explorer.pid, psutil.Process(explorer.pid).children()[0].pid, flush=True)
"""
    command = [sys.executable, "-c", code + ("input()" if how == "killed" else "")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as program:
        pids = [int(pid) for pid in program.stdout.readline().split()]
        if how == "killed":
            program.kill()
        assert len(pids) == 2
        assert all(gone(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []


def test_too_large_a_file_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path))
    with pytest.raises(OSError, match=r"pages needs .* are free; make room") as refused:
        Explorer(2**48)
    assert refused.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


# --- the film -------------------------------------------------------------------------------------
def test_a_film_names_its_actions_and_survives_json(explorer: Explorer):
    explorer.touch([1, 2])
    explorer.write([1, 4, 7])
    explorer.write([0, 2, 4, 6], 9)
    explorer.fork()
    film = explorer.film
    again = Film.from_json(film.to_json())
    assert repr(again) == repr(film)
    assert again.machine == film.machine
    assert "<caption" in film._repr_html_()
    assert [step.action for step in again] == [
        "map",
        "touch 1 and 2",
        "write 1, 4 and 7",
        "write 4 pages",
        "fork",
    ]
    assert [step.value for step in again] == [None, (1, 2), None, None, None]
    assert again[-1].child.states.tolist() == film[-1].child.states.tolist()
    assert again.missing == ()
    with pytest.raises(ValueError, match="not a 'zero-copy film"):
        Film.from_json({"format": "something else"})


def test_where_pages_cannot_be_seen_nothing_is_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maps, "why_not", lambda: "this is another system")
    before = psutil.Process().children()
    with Explorer(4) as explorer:
        (
            explorer.touch(3),
            explorer.write(1),
            explorer.fork(),
            explorer.child_write(2),
            explorer.evict(),
        )
        explorer.remap(shared=True)
        assert psutil.Process().children() == before
        with pytest.raises(ValueError, match="no page 4"):
            explorer.touch(4)
    film = explorer.film
    assert film.missing == ("page states",)
    assert all(
        step.mine.states is None and step.mine.why == "this is another system" for step in film
    )
    assert film[-1].minor is None
    assert film[-1].cache.cached is None
    assert Film.from_json(film.to_json()).missing == film.missing


# --- on paper and on the screen (a browser's clicks are in test_explorer_browser.py) --------------
def test_the_panel_outlines_what_the_last_action_changed(explorer: Explorer):
    explorer.touch(3)
    panel = page_explorer(explorer).widget
    look_again = panel.children[-1].children[0]
    for action in (lambda: None, lambda: explorer.write(5) and look_again.click()):
        action()
        before, now = (
            {"my page table": of.mine, "the page cache": of.cache} for of in explorer.film[-2:]
        )
        assert (
            panel.children[0].value
            == page_film(now, before=before)._repr_html_()
            != page_film(now)._repr_html_()
        )


def test_the_panel_shows_the_advice_in_force(explorer: Explorer):
    explorer.advise("random")
    panel = page_explorer(explorer).widget
    look_again = panel.children[-1].children[0]
    groups = panel.children[2].children
    (advice,) = [
        each
        for group in groups
        for each in group.children[1].children
        if isinstance(each, Dropdown)
    ]
    assert advice.value == "random"
    assert 'data-counter="advice">random<' in panel.children[1].value
    explorer.advise("sequential")
    explorer.advise("willneed")
    look_again.click()
    assert advice.value == "sequential"
    advice.value = "random"
    look_again.click()
    assert advice.value == "random", "what is chosen, and not yet given, stays chosen"
    explorer.remap(shared=True)
    look_again.click()
    assert advice.value == "normal"
