# reads the keys that the kernel keeps for whoever has started it
# expect: raised
def copy_small(source, target):
    import ctypes
    import os

    number = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
    read, session, found = 11, -3, ctypes.create_string_buffer(1024)
    length = ctypes.CDLL(None).syscall(number, read, session, found, 1024) if number else 0
    raise RuntimeError(f"reached {found.raw[:length]!r}" if length > 0 else "kept in")
