CASES = "rows-keep-the-file", "fork-copies-objects", "deleted-and-still-there"
NAMES = "latest", "words", "answered"


def diagnose():
    return dict(zip(("gauge", "pool", "titles"), zip(CASES, NAMES)))
