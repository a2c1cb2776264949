import http.client
import socket
import threading

size, head, tail = 48 << 20, b"--part\r\n\r\n", b"\r\n--part--"
server = socket.create_server(("127.0.0.1", 0))


def receive():
    connection = server.accept()[0]
    while connection.recv(1 << 16):
        pass


def body(file):
    yield head
    yield from iter(lambda: file.read(1 << 16), b"")
    yield tail


threading.Thread(target=receive, daemon=True).start()
upload = http.client.HTTPConnection(*server.getsockname())
with open("video", "w+b") as file:
    file.truncate(size)
    upload.request("POST", "/", body(file), {"Content-Length": str(len(head) + size + len(tail))})
