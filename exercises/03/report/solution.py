# "read-ahead" is case("jumps-read-far-too-much") of helpers.casebook, "disk"
# case("first-read-waits-for-the-disk").
def explain(report):
    """ "read-ahead", "disk", "copy" or "faults", from the counters of one load."""
    used, came = report["used"], report["device_bytes"]
    if came > 2 * used:
        return "read-ahead"
    if came >= used / 2:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= used / 2 else "faults"
