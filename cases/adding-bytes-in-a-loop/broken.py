size, piece = 48 << 20, b"x" * (4 << 20)
body = b""
while len(body) < size:
    body += piece
