# expect: too-much-memory
# on: linux
def copy_small(source, target):
    import os

    pid = os.fork()
    if pid == 0:
        target.write_bytes(source.read_bytes())
        os._exit(0)
    os.waitpid(pid, 0)
