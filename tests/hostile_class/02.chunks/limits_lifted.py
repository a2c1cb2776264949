# lifts its own limits, and leaves none of it to measure
# expect: raised
def copy_small(source, target):
    import os
    import resource

    reached = []
    for name in ("NPROC", "FSIZE", "NOFILE", "CORE"):
        number = getattr(resource, f"RLIMIT_{name}")
        try:
            resource.setrlimit(number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            reached.append(name)
        except (OSError, ValueError):
            pass
    try:
        os.nice(-5)
        reached.append("nice")
    except OSError:
        pass
    raise RuntimeError(f"reached {reached}" if reached else "kept in")
