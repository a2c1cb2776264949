# fills the disk with files that lie in a socket, open nowhere (on a fast disk between two looks)
# expect: not graded or raised
def find(session, mapping):
    import os
    import socket

    held = []
    while True:
        held.append(socket.socketpair())
        with open("file", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2**29)
            socket.send_fds(held[-1][0], [b"1"], [file.fileno()])
        os.remove("file")
