# expect: missed-faults
def explain(report):
    used, came = report["used"], report["device_bytes"]
    if came > 2 * used:
        return "read-ahead"
    if came >= used / 2:
        return "disk"
    return "copy" if report["read_calls"] > 1 else "faults"
