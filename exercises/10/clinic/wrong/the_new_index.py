# expect: other-name, half
def diagnose():
    return {
        "gauge": ("rows-keep-the-file", "extremes"),
        "pool": ("fork-copies-objects", "words"),
        "titles": ("deleted-and-still-there", "index"),
    }
