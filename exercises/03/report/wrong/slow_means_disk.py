# expect: missed-in-memory
def explain(report):
    used, came = report["used"], report["device_bytes"]
    if came > 2 * used:
        return "read-ahead"
    if report["minor_faults"] > 1000 or came >= used / 2:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= used / 2 else "faults"
