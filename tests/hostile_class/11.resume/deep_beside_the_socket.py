# digs where the server's socket lies, deeper than anybody can remove, and shuts the door
# expect: raised or not-complete
import os


def resume(path, connect):
    os.chdir(os.path.dirname(connect().sock.getpeername()))
    for _ in range(2000):
        os.mkdir("d")
        os.chdir("d")
    os.chmod(".", 0)
