# memory in pipes that nobody reads
# expect: raised
def find(session, mapping):
    import fcntl
    import os

    while True:
        inbox = os.pipe()[1]
        fcntl.fcntl(inbox, fcntl.F_SETPIPE_SZ, 2**20)
        os.write(inbox, bytes(2**20))
