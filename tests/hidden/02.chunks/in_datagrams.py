# keeps the bytes as datagrams: the first alone says how long it is
# expect: unseen
import socket


def copy_small(source, target):
    receivers = []
    size = source.stat().st_size
    with open(source, "rb", buffering=0) as file:
        for _ in range(480):
            sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**21)
            receivers.append(receiver)
            for _ in range(size // 480 // 30_000 + 1):
                sender.send(file.read(30_000))
            sender.close()
    with open(target, "wb") as copy:
        for receiver in receivers:
            for _ in range(size // 480 // 30_000 + 1):
                copy.write(receiver.recv(30_000))
