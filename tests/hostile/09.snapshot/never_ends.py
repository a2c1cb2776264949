# a thread and an exit handler that do not end
def load(path):
    import atexit
    import threading
    import time

    threading.Thread(target=time.sleep, args=(600,)).start()
    atexit.register(time.sleep, 600)
    raise ValueError(f"{path.stat().st_size} bytes")
