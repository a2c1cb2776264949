# memory in the buffers of sockets that nobody reads, of a hundred processes
# expect: not graded or memory-limit or still-running
def copy_small(source, target):
    import os
    import socket
    import time

    for _ in range(100):
        if not os.fork():
            held = []
            try:
                while True:
                    held += socket.socketpair()
                    held[-1].setblocking(False)
                    held[-1].send(bytes(2**18))
                    held[-2].setblocking(False)
                    held[-2].send(bytes(2**18))
            except OSError:
                time.sleep(100)
    time.sleep(100)
