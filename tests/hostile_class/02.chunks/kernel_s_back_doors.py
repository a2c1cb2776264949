# system calls that an attack would begin with
# expect: raised
def copy_small(source, target):
    import ctypes
    import os

    if os.uname().machine != "x86_64":
        raise RuntimeError("kept in")
    c, some = ctypes.CDLL(None), ctypes.create_string_buffer(128)
    calls = {"bpf": (321, 0, some, 128), "perf": (298, some, 0, -1, -1, 0), "userfaultfd": (323, 0),
             "module": (175, some, 128, b""), "kexec": (246, 0, 0, None, 0), "log": (103, 3, some, 128),
             "clock": (227, 0, some), "name": (170, b"gone", 4), "reboot": (169, 0xFEE1DEAD, 672274793, 0)}  # fmt: skip
    reached = [name for name, call in calls.items() if c.syscall(*call) >= 0]
    raise RuntimeError(f"reached {reached}" if reached else "kept in")
