def explain(report):
    used, came, copied = (report[name] for name in ("used", "device_bytes", "bytes_by_calls"))
    rules = {
        "read-ahead": came > 2 * used,
        "disk": 2 * came >= used,
        "copy": 2 * copied >= used,
        "faults": True,
    }
    return next(word for word, holds in rules.items() if holds)
