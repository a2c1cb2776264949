# expect: missed-read-ahead
def explain(report):
    if report["cached_before"] < report["size"] / 2:
        return "disk"
    return "copy" if report["bytes_by_calls"] >= report["used"] / 2 else "faults"
