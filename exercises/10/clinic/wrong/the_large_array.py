# expect: other-name, half
def diagnose():
    return {
        "gauge": ("rows-keep-the-file", "latest"),
        "pool": ("fork-copies-objects", "weights"),
        "titles": ("deleted-and-still-there", "answered"),
    }
