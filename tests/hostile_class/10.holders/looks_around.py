# looks for the work, answers, keys, sockets and open folders of others, and calls home
# expect: raised
def find(session, mapping):
    import ctypes
    import os
    import socket
    from pathlib import Path

    wanted = (
        "solution.py",
        "check.py",
        "recorded.toml",
        "exercises",
        "grades.sqlite",
        "gradebook.csv",
    )
    wanted, reached = (*wanted, ".ssh", ".bashrc", ".git"), []
    for top in ("/root", "/home", "/tmp", "/var", "/run", "/mnt", "/media", "/srv", "/opt", "/etc"):
        for _, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name not in ("site-packages", "lib", "lib64")]
            reached += [
                name for name in (*folders, *files) if name in wanted or name.endswith(".ipynb")
            ]
    reached += [
        name for name in wanted for parent in Path.cwd().parents if (parent / name).exists()
    ]

    for name in os.listdir("/proc/self/fd"):
        try:
            os.listdir(f"/proc/self/fd/{name}")
            reached.append(f"a folder, by descriptor {name}")
        except OSError:
            pass
    for place in ("/proc/1/root/root", "/proc/1/cwd/../..", "/proc/self/root/.."):
        try:
            reached += {"judge", "exercises", "etc-host"} & {*os.listdir(place)}
        except OSError:
            pass

    number = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
    read, session, found = 11, -3, ctypes.create_string_buffer(1024)
    length = ctypes.CDLL(None).syscall(number, read, session, found, 1024) if number else 0
    if length > 0:
        reached.append(f"{found.raw[:length]!r}")

    with open("/proc/net/unix") as file:
        names = [line.split()[-1] for line in file if "@" in line]
    names += [
        "@/tmp/.X11-unix/X0",
        "/run/user/1000/bus",
        "/var/run/docker.sock",
        "/run/dbus/system_bus_socket",
    ]
    hosts = (("192.0.2.1", 80), ("127.0.0.1", 22), ("example.org", 80), ("169.254.169.254", 80))
    places = [(socket.AF_UNIX, name.replace("@", "\0")) for name in names] + [
        (socket.AF_INET, host) for host in hosts
    ]
    for family, place in places:
        try:
            line = socket.socket(family)
            line.settimeout(1)
            line.connect(place)
            reached.append(place)
        except OSError:
            pass
    raise RuntimeError(f"reached {reached[:5]}" if reached else "kept in")
