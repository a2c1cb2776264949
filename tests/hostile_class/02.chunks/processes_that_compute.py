# a hundred processes that compute, each in a session of its own: for those who run beside it
# expect: still-running
def copy_small(source, target):
    import os

    for _ in range(100):
        if not os.fork():
            os.setsid()
            while True:
                sum(range(10**5))
    os.wait()
