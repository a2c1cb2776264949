"""The sockets that the workers listen on."""

import socket


def listeners(count: int, port: int) -> list[socket.socket]:
    """A socket for each worker, all at one port: the kernel deals out the connections (SO_REUSEPORT, socket(7)). From
    one shared socket, the first worker to wake would take all that wait. The watcher keeps them: what waits for a
    worker that is killed waits for its successor.

    They name their protocol, because asyncio sets TCP_NODELAY only where it sees TCP. Without that, an answer's body
    waits 40 ms for the client to acknowledge its head (Nagle's algorithm, delayed ACK).
    """
    with socket.create_server(("127.0.0.1", port)) as free:  # or another server of ours could share the port
        port = free.getsockname()[1]
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) for _ in range(count)]
    for each in sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        each.bind(("127.0.0.1", port))
        each.listen(1024)
    return sockets
