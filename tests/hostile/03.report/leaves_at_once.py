# ends the process, and leaves another that holds its pipes
def explain(report):
    import os
    import time

    if not os.fork():
        os.setsid()
        time.sleep(60)
    os._exit(0)
