# expect: wrong-range
from http.client import HTTPException

from helpers.ideas.upload import checksum


def resume(path, connect):
    size, headers = path.stat().st_size, {"Repr-Digest": checksum(path)}
    while True:
        line = connect()
        try:
            line.request("HEAD", f"/models/{path.name}", headers=headers)
            answer = line.getresponse()
            answer.read()
            if answer.headers["Upload-Complete"] == "?1":
                return
            first = int(answer.headers["Upload-Offset"])
            rest = size - first
            more = {
                "Content-Range": f"bytes {first}-{size - 1}/{rest}",
                "Content-Length": str(rest),
            }
            with open(path, "rb") as file:
                file.seek(first)
                line.request("PUT", f"/models/{path.name}", file, headers | more)
                line.getresponse().read()
        except (ConnectionError, HTTPException):
            pass
        finally:
            line.close()
