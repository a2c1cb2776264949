# threads without end, each of which computes
# expect: still-running
def copy_small(source, target):
    import threading

    def compute():
        while True:
            sum(range(10**5))

    while True:
        try:
            threading.Thread(target=compute).start()
        except RuntimeError:
            continue
