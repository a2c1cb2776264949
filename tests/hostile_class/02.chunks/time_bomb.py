# copies a part, and a thread and an alarm bring the rest later
# expect: too-short or late or other-bytes
def copy_small(source, target):
    import shutil
    import signal
    import threading
    import time

    def later(*_):
        time.sleep(0.3)
        shutil.copyfile(source, target)

    target.write_bytes(bytes(100))
    threading.Thread(target=later, daemon=True).start()
    signal.signal(signal.SIGALRM, later)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
