# removes the server's socket, as if the server had seen enough
def resume(path, connect):
    import os

    os.unlink(connect().sock.getpeername())
    connect()
