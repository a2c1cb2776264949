# expect: no-such-case
def diagnose():
    return {
        "gauge": ("a view keeps the file", "latest"),
        "pool": ("fork-copies-objects", "words"),
        "titles": ("deleted-and-still-there", "answered"),
    }
