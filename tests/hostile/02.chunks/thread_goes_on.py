# a thread that is no daemon copies the file as a whole, when the measurement has ended
import threading
import time


def later(source, target):
    time.sleep(0.5)
    target.write_bytes(source.read_bytes())


def copy_small(source, target):
    threading.Thread(target=later, args=(source, target)).start()
