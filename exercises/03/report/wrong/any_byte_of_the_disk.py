# expect: missed-copy
def explain(report):
    used, came = report["used"], report["device_bytes"]
    if came > 2 * used:
        return "read-ahead"
    if came > 0:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= used / 2 else "faults"
