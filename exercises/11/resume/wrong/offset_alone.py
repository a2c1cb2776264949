# expect: sent-again
from http.client import HTTPException

from helpers.ideas.upload import checksum


def resume(path, connect):
    size, headers, first = path.stat().st_size, {"Repr-Digest": checksum(path)}, 0
    while first < size:
        line = connect()
        try:
            line.request("HEAD", f"/models/{path.name}", headers=headers)
            answer = line.getresponse()
            answer.read()
            first = int(answer.headers["Upload-Offset"])
            more = {
                "Content-Range": f"bytes {first}-{size - 1}/{size}",
                "Content-Length": str(size - first),
            }
            with open(path, "rb") as file:
                file.seek(first)
                line.request("PUT", f"/models/{path.name}", file, headers | more)
                if line.getresponse().status == 201:
                    return
        except (ConnectionError, HTTPException):
            pass
        finally:
            line.close()
