# has a lease on the file, so whoever opens it for reading must wait
# expect: raised
def read(path):
    import fcntl
    import os
    import signal

    signal.signal(signal.SIGIO, signal.SIG_IGN)
    fcntl.fcntl(os.open(path, os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
    return {}
