import time
from contextlib import closing
from http.client import HTTPException

from helpers.ideas.upload import checksum


def resume(path, connect):
    """Sends the file to the server, which may have a part of it already."""
    size, headers = path.stat().st_size, {"Repr-Digest": checksum(path)}
    while True:
        try:
            with closing(connect()) as line, open(path, "rb") as file:
                line.request("HEAD", f"/models/{path.name}", headers=headers)
                answer = line.getresponse()
                answer.read()
                if answer.headers["Upload-Complete"] == "?1":
                    return
                first = int(answer.headers["Upload-Offset"])
                more = {
                    "Content-Range": f"bytes {first}-{size - 1}/{size}",
                    "Content-Length": str(size - first),
                }
                file.seek(first)
                line.request("PUT", f"/models/{path.name}", file, headers | more)
                line.getresponse().read()
        except (ConnectionError, HTTPException):
            time.sleep(0.05)  # the server may be starting again
