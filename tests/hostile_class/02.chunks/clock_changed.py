# changes the clock, so that no time passes
# expect: raised
def copy_small(source, target):
    import time

    reached = []
    for name in ("CLOCK_REALTIME", "CLOCK_MONOTONIC"):
        try:
            time.clock_settime(getattr(time, name), 0)
            reached.append(name)
        except OSError:
            pass
    raise RuntimeError(f"reached {reached}" if reached else "kept in")
