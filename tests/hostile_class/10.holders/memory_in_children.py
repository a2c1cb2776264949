# a hundred children hold the memory
# expect: memory-limit or still-running
def find(session, mapping):
    import os
    import time

    for _ in range(100):
        if not os.fork():
            held = b"1" * 2**26
            time.sleep(100)
            del held
    time.sleep(100)
