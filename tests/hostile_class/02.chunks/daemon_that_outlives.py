# leaves a daemon that writes the copy later
# expect: no-file
def copy_small(source, target):
    import os
    import shutil
    import time

    if not os.fork():
        os.setsid()
        if not os.fork():
            time.sleep(1)
            shutil.copyfile(source, target)
            time.sleep(10**6)
        os._exit(0)
