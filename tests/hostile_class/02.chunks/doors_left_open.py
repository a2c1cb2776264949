# leaves by a descriptor that somebody has left open
# expect: raised
def copy_small(source, target):
    import os
    import stat

    reached = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISDIR(os.fstat(int(name)).st_mode):
                reached.append(os.readlink(f"/proc/self/fd/{name}"))
            os.listdir(f"/proc/self/fd/{name}/../../..")
            reached.append(name)
        except OSError:
            pass
    for place in ("/proc/1/root/root", "/proc/1/cwd/../..", "/proc/self/root/.."):
        try:
            reached += {"student", "judge", "exercises", "etc-host"} & {*os.listdir(place)}
        except OSError:
            pass
    raise RuntimeError(f"reached {reached}" if set(reached) - {"student"} else "kept in")
