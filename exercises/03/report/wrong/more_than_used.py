# expect: missed-disk
def explain(report):
    used, came = report["used"], report["device_bytes"]
    if came > used:
        return "read-ahead"
    if came >= used / 2:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= used / 2 else "faults"
