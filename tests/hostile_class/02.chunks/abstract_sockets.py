# looks for the sockets of others, which have names and no files
# expect: raised
def copy_small(source, target):
    import socket

    with open("/proc/net/unix") as file:
        names = [line.split()[-1] for line in file if "@" in line]
    reached = []
    for name in (
        *names,
        "@/tmp/.X11-unix/X0",
        "/run/user/1000/bus",
        "/var/run/docker.sock",
        "/run/dbus/system_bus_socket",
    ):
        try:
            socket.socket(socket.AF_UNIX).connect(name.replace("@", "\0"))
            reached.append(name)
        except OSError:
            pass
    raise RuntimeError(f"reached {reached}" if reached else "kept in")
