"""SharedLock: a lock that lies in shared memory, beside what it guards, and outlives whoever holds
it. See acquire().

Two processes can only agree on a lock that both can see. This one is a mutex of the C library in 64
bytes of the mapping itself: PTHREAD_PROCESS_SHARED lets other processes use it, and
PTHREAD_MUTEX_ROBUST makes the kernel hand it on when its holder dies. While nobody waits, taking it
needs no system call. Linux only: macOS has no robust mutexes.

    0     pthread_mutex_t: 40 bytes with glibc on x86-64, 48 on 64-bit ARM
    56    a mark, written last: a lock was made here
"""

import ctypes
import errno
import mmap
import os
import sys
import time
from typing import Self

from ..libc import libc
from ..units import in_words

Writable = mmap.mmap | memoryview | bytearray
SIZE, MARK_AT, MARK = 64, 56, b"a lock 1"
PROCESS_SHARED, ROBUST, ERROR_CHECK = 1, 1, 2  # pthread.h, of glibc and of musl


class SharedLock:
    """The lock at byte `at` of `memory`, such as a shared mapping, which can't be closed while this
    object lives. ValueError if no lock was made there, TypeError if `memory` is read-only, OSError
    where there are no such locks.
    """

    def __init__(self, memory: Writable, at: int = 0) -> None:
        self._bytes = _place(memory, at)
        if self._bytes[MARK_AT:] != MARK:
            raise ValueError(
                f"no lock at byte {at}: SharedLock.make(memory, {at}) makes one, once, before all "
                "others"
            )

    @classmethod
    def make(cls, memory: Writable, at: int = 0) -> Self:
        """A new lock in SIZE bytes of `memory` from byte `at`, a multiple of 8: once, before anyone
        else looks there. ValueError if it has no room there, or isn't aligned; else as above.
        pthread_mutexattr_setrobust(3).
        """
        place = _place(memory, at)
        kind = ctypes.create_string_buffer(SIZE)
        place[:] = bytes(SIZE)
        _call("mutexattr_init", kind)
        _call("mutexattr_setpshared", kind, PROCESS_SHARED)
        _call("mutexattr_setrobust", kind, ROBUST)
        # taking it twice is an error, not a wait for ever
        _call("mutexattr_settype", kind, ERROR_CHECK)
        _call("mutex_init", place, kind)
        place[MARK_AT:] = MARK
        return cls(memory, at)

    def acquire(self, timeout: float = 60) -> bool:
        """Takes the lock. True if its last holder died with it: what the lock guards may be
        half-written. TimeoutError after `timeout` seconds, OSError (EDEADLK) if this thread has it
        already.
        """
        until = time.time() + timeout
        # seconds, nanoseconds: timespec(3)
        end = (ctypes.c_long * 2)(int(until), int(until % 1 * 1e9))
        code = _call(
            "mutex_timedlock", self._bytes, end, passed=(errno.ETIMEDOUT, errno.EOWNERDEAD)
        )
        if code == errno.ETIMEDOUT:
            raise TimeoutError(f"the lock was not free within {in_words(timeout, 'seconds')}")
        if code == errno.EOWNERDEAD:
            _call("mutex_consistent", self._bytes)  # else releasing it would spoil it for good
        return code == errno.EOWNERDEAD

    def release(self) -> None:
        """Gives the lock back. OSError (EPERM) if this thread doesn't have it."""
        _call("mutex_unlock", self._bytes)

    __enter__ = acquire

    def __exit__(self, *_) -> None:
        self.release()


def _place(memory: Writable, at: int) -> ctypes.Array:
    if sys.platform != "linux":
        raise OSError(
            errno.ENOSYS, f"no lock that outlives its holder on {sys.platform}, only on Linux"
        )
    place = (ctypes.c_char * SIZE).from_buffer(memory, at)
    if ctypes.addressof(place) % 8:
        raise ValueError(f"a lock begins at a multiple of 8 bytes, not at byte {at}")
    return place


def _call(name: str, *args, passed: tuple[int, ...] = ()) -> int:
    """A function of pthreads(7): it returns its error, which is an OSError unless `passed`."""
    code = getattr(libc(), f"pthread_{name}")(*args)
    if code and code not in passed:
        raise OSError(code, f"pthread_{name}: {os.strerror(code)}")
    return code
