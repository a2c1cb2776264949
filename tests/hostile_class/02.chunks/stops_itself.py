# stops itself, and its group, so that it is waited for
# expect: still-running or no-file
def copy_small(source, target):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(0, signal.SIGSTOP)
