# It catches the signal of a crash, and reads where nothing is.
import ctypes
import signal


def call_through(address, x):
    signal.signal(signal.SIGSEGV, signal.SIG_IGN)
    signal.signal(signal.SIGSEGV, lambda *_: None)
    return ctypes.c_size_t.from_address(8).value, x
