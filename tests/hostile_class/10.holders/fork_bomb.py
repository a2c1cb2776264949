# every process starts another, without end
# expect: still-running or crashed
def find(session, mapping):
    import os

    if os.getpid() != 1:  # outside of a sandbox this must not run
        return

    while True:
        try:
            os.fork()
        except OSError:
            continue
