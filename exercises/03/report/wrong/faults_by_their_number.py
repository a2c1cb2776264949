# expect: missed-disk
def explain(report):
    used, came = report["used"], report["device_bytes"]
    if came > 2 * used:
        return "read-ahead"
    if report["bytes_by_calls"] < used / 2 and report["major_faults"] * 4096 < used / 2:
        return "faults"
    return "disk" if came >= used / 2 else "copy"
