# copies after it has returned, and makes the runner's mark younger than that
# expect: late
import os
import shutil
import threading
import time


def copy_small(source, target):
    threading.Thread(target=later, args=(source, target)).start()


def later(source, target):
    time.sleep(0.5)
    shutil.copyfile(source, target)
    for mark in target.parent.iterdir():
        if mark not in (source, target):
            os.utime(mark)
