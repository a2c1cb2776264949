# counts in processes that go on when it has returned
def add(path, times):
    import os
    import time

    if not os.fork():
        os.setsid()
        time.sleep(1)
        with open(path, "r+b") as f:
            count = int.from_bytes(f.read(8), "little")
            f.seek(0)
            f.write((count + times).to_bytes(8, "little"))
        os._exit(0)
