# It ends every process that it may, but itself.
import os
import signal


def explain(steps):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.killpg(os.getpgrp(), signal.SIGTERM)
    return "done"
