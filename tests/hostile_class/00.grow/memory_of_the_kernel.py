# memory in the buffers of sockets that nobody reads, and in memory files that nobody maps
# expect: not graded or memory-limit or still-running
def grow():
    import os
    import socket
    import time

    for _ in range(100):
        if not os.fork():
            held = []
            try:
                while True:
                    held += socket.socketpair()
                    for end in held[-2:]:
                        end.setblocking(False)
                        end.send(bytes(2**18))
            except OSError:
                time.sleep(100)
    files = []
    while True:
        files.append(os.memfd_create(""))
        os.posix_fallocate(files[-1], 0, 2**26)
