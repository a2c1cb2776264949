# expect: sent-again
from http.client import HTTPException

from helpers.ideas.upload import checksum


def resume(path, connect):
    size, headers = path.stat().st_size, {"Repr-Digest": checksum(path)}
    more = {"Content-Range": f"bytes 0-{size - 1}/{size}", "Content-Length": str(size)}
    for _ in range(20):
        line = connect()
        try:
            with open(path, "rb") as file:
                line.request("PUT", f"/models/{path.name}", file, headers | more)
            if line.getresponse().status == 201:
                return
        except (ConnectionError, HTTPException):
            pass
        finally:
            line.close()
