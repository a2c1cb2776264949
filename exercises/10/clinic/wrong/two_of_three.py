# expect: no-pairs
def diagnose():
    return {
        "gauge": ("rows-keep-the-file", "latest"),
        "pool": ("fork-copies-objects", "words"),
    }
