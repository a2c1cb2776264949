def resume(path, connect):
    """Sends the file to the server, which may have a part of it already."""
    from http.client import HTTPException

    from helpers.ideas.upload import checksum

    size, headers = path.stat().st_size, {"Repr-Digest": checksum(path)}
    while True:
        line = connect()
        try:
            more = {"Content-Range": f"bytes 0-{size - 1}/{size}"}
            more["Content-Length"] = str(size)
            data, to = path.read_bytes(), f"/models/{path.name}"
            line.request("PUT", to, data, headers | more)
            if line.getresponse().status == 201:
                return
        except (ConnectionError, HTTPException):
            pass
        finally:
            line.close()
