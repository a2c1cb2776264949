# expect: other-case
def diagnose():
    return {
        "gauge": ("bus-error-when-cut", "latest"),
        "pool": ("fork-copies-objects", "words"),
        "titles": ("deleted-and-still-there", "answered"),
    }
