# expect: other-type
def explain(report):
    return "mmap" if report["read_calls"] < 2 else "read"
