# calls home, in every way
# expect: raised
def copy_small(source, target):
    import socket

    reached = []
    for where in (("192.0.2.1", 80), ("127.0.0.1", 22), ("example.org", 80), ("169.254.169.254", 80)):
        try:
            socket.create_connection(where, 1)
            reached.append(where)
        except OSError:
            pass
    raise RuntimeError(f"reached {reached}" if reached else "kept in")
