# expect: missed-disk
def explain(report):
    used, came = report["used"], report["device_bytes"]
    if report["bytes_by_calls"] >= used / 2:
        return "copy"
    if came > 2 * used:
        return "read-ahead"
    return "disk" if came >= used / 2 else "faults"
