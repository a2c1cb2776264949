# ends the process, and leaves another that holds its pipes
def explain(steps):
    import os
    import time

    if not os.fork():
        os.setsid()
        time.sleep(60)
    os._exit(0)
