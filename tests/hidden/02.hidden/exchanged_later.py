# returns other bytes, and exchanges the file that they were written to
# expect: late
import shutil
import threading
import time


def load(path):
    threading.Thread(target=later, args=(path,)).start()
    return bytearray(path.stat().st_size)


def later(path):
    while sum(file.stat().st_size for file in path.parent.iterdir()) < 2 * path.stat().st_size:
        time.sleep(0.01)
    time.sleep(1)
    (written,) = {*path.parent.iterdir()} - {path}
    shutil.copyfile(path, written)
