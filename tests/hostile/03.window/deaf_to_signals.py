# ignores every signal that it can, and never ends, nor does its thread
def largest_sum(path, width):
    import signal
    import threading

    for one in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(one, signal.SIG_IGN)

    def spin():
        while True:
            pass

    threading.Thread(target=spin).start()
    spin()
