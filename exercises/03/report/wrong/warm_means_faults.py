# expect: missed-copy
def explain(report):
    used, came = report["used"], report["device_bytes"]
    if came > 2 * used:
        return "read-ahead"
    return "disk" if came >= used / 2 else "faults"
