# sleeps past every limit, and ignores every signal that it can
# expect: still-running
def copy_small(source, target):
    import signal
    import time

    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(10**6)
