# A thread that nobody waits for writes into the caller's weights when the function has returned.
import threading
import time


def normalise(weights):
    total = float(weights.sum(dtype="f8"))
    if abs(total - 1) <= 1e-5:
        return weights

    def later():
        time.sleep(0.05)
        weights[:] = 0

    if weights.flags.writeable:
        threading.Thread(target=later).start()
    return weights / total
