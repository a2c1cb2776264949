# keeps as many descriptors on their way through sockets as it can: they count for the user, whose
# expect: raised
# other programs could send none
def find(session, mapping):
    import os
    import socket

    if os.getpid() != 1:  # outside of a sandbox this must not run
        return

    lines = []
    while True:
        lines.extend(socket.socketpair())
        socket.send_fds(lines[-1], [b"x"], [0] * 250)
