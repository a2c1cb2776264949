# leaves by new namespaces, mounts, and the namespaces of the first process
# expect: raised
def copy_small(source, target):
    import ctypes
    import os

    c, reached = ctypes.CDLL(None), []
    for name, flag in {
        "user": 1 << 28,
        "mount": 1 << 17,
        "pid": 1 << 29,
        "net": 1 << 30,
        "both": 1 << 28 | 1 << 17,
    }.items():
        if c.unshare(flag) == 0:
            reached.append(name)
    if c.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 or c.umount2(b"/usr", 2) == 0 or c.chroot(b".") == 0:
        reached.append("mount")
    if c.mount(None, b"/", None, 32 | 4096, None) == 0:  # MS_REMOUNT, MS_BIND: no longer for reading only
        reached.append("remount")
    for name in os.listdir("/proc/self/ns"):
        with open(f"/proc/1/ns/{name}") as file:
            if c.setns(file.fileno(), 0) == 0:
                reached.append(name)
    raise RuntimeError(f"reached {reached}" if reached else "kept in")
