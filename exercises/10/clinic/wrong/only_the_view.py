# expect: look-alike
def diagnose():
    return {
        "gauge": ("rows-keep-the-file", "latest"),
        "pool": ("fork-copies-objects", "words"),
        "titles": ("rows-keep-the-file", "answered"),
    }
