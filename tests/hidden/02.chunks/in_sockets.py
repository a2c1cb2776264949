# keeps the bytes in sockets that nobody reads from, whose senders are closed
# expect: unseen
import socket


def copy_small(source, target):
    receivers = []
    with open(source, "rb", buffering=0) as file:
        while data := file.read(2**18):
            sender, receiver = socket.socketpair()
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**21)
            sender.sendall(data)
            sender.close()
            receivers.append(receiver)
    with open(target, "wb") as copy:
        for receiver in receivers:
            while data := receiver.recv(2**18):
                copy.write(data)
