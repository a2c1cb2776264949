def explain(report):
    from_disk = report["device_bytes"] / report["used"]
    by_calls = report["bytes_by_calls"] / report["used"]
    match from_disk > 2, from_disk >= 0.5, by_calls >= 0.5:
        case True, _, _:
            return "read-ahead"
        case _, True, _:
            return "disk"
        case _, _, True:
            return "copy"
    return "faults"
