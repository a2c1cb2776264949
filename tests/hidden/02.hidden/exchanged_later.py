# returns other bytes, and exchanges the file that they were written to
# expect: late
import shutil
import threading
import time


def load(path):
    data = bytearray(path.stat().st_size)
    for at in range(0, len(data), 4096):
        data[at] = 1
    threading.Thread(target=later, args=(path,)).start()
    return data


def later(path):
    while not (written := [file for file in path.parent.iterdir() if file != path]):
        time.sleep(0.01)
    time.sleep(1)
    shutil.copyfile(path, written[0])
