def diagnose():
    found = {}
    found["titles"] = ["deleted-and-still-there", "answered[0]"]
    found["gauge"] = ["rows-keep-the-file", "latest[1]"]
    found["pool"] = ["fork-copies-objects", "words"]
    return found
