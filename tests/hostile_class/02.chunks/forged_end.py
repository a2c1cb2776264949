# says by every open descriptor that it has returned, with a report in which nothing was taken
# expect: no-file or crashed
def copy_small(source, target):
    import os
    import struct
    import sys

    child = sys.modules["__main__"]
    frame = sys._getframe()
    while frame and "packed" not in frame.f_globals:
        frame = frame.f_back
    packed = frame.f_globals["packed"] if frame else child.packed
    report = packed(
        {"ended": "returned", "error": None, "counters": {}, "began": 0.0, "finished": 0.0}
    )
    mail = b"done\n" + struct.pack("<I", 1) + b"N" + struct.pack("<I", 0)
    mail += struct.pack("<I", len(report)) + report + struct.pack("<I", 0)
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        try:
            os.write(descriptor, mail)
        except OSError:
            continue
    os._exit(0)
