# expect: missed-disk
def explain(report):
    used = report["used"]
    if report["device_bytes"] > 2 * used:
        return "read-ahead"
    if report["cached_before"] < report["size"] / 2:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= used / 2 else "faults"
