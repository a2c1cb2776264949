"""A lock in shared memory, whose holder may die. That no count is lost under it, a claim of lesson
04 asserts.
"""

import errno
import mmap
import os
import signal
import sys
from collections.abc import Callable

import pytest

from helpers.ideas import shared_lock
from helpers.ideas.shared_lock import SIZE, SharedLock

linux = pytest.mark.skipif(sys.platform != "linux", reason="no robust mutexes elsewhere")


@pytest.fixture
def page() -> mmap.mmap:
    return mmap.mmap(-1, mmap.PAGESIZE)


def forked(does: Callable[[], object]) -> int:
    """The exit status of a fork that does this: 0, 1 if it raised, or minus the signal."""
    child = os.fork()
    if child == 0:
        try:
            does()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@linux
def test_the_next_holder_hears_of_a_death_once(page: mmap.mmap):
    lock = SharedLock.make(page)
    assert forked(lambda: (lock.acquire(), os.kill(os.getpid(), signal.SIGKILL))) == -signal.SIGKILL
    assert lock.acquire(timeout=5)
    lock.release()
    with lock as orphaned:
        assert not orphaned
    assert forked(lock.acquire) == 0  # this fork also ends holding it
    assert forked(lambda: lock.acquire() or os._exit(3)) == 0
    lock.acquire()
    lock.release()


@linux
def test_a_lock_that_is_taken_is_waited_for_no_longer_than_asked(page: mmap.mmap):
    lock = SharedLock.make(page)

    def late() -> None:
        with pytest.raises(TimeoutError, match=r"not free within 0\.05 s"):
            lock.acquire(timeout=0.05)

    with lock:
        with pytest.raises(OSError) as twice:
            lock.acquire()
        assert twice.value.errno == errno.EDEADLK
        assert forked(late) == 0
    with pytest.raises(PermissionError, match="pthread_mutex_unlock"):
        lock.release()


@linux
def test_a_lock_has_room_and_was_made(page: mmap.mmap):
    with pytest.raises(ValueError, match=r"no lock at byte 64: SharedLock\.make\(memory, 64\)"):
        SharedLock(page, 64)
    with pytest.raises(ValueError, match="multiple of 8 bytes, not at byte 4"):
        SharedLock.make(page, 4)
    with pytest.raises(ValueError, match="too small"):
        SharedLock.make(page, mmap.PAGESIZE - SIZE + 8)
    with pytest.raises(TypeError, match="not writable"):
        SharedLock.make(bytes(SIZE))


@linux
def test_memory_with_a_lock_in_use_stays_open(page: mmap.mmap):
    lock = SharedLock.make(page)
    with pytest.raises(BufferError):
        page.close()
    del lock
    page.close()


def test_elsewhere_it_says_what_is_missing(page: mmap.mmap, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared_lock.sys, "platform", "darwin")
    with pytest.raises(OSError, match="no lock that outlives its holder on darwin"):
        SharedLock.make(page)
