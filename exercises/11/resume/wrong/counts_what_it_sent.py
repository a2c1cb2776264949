# expect: not-asked
from http.client import HTTPException

from helpers.ideas.upload import checksum


def resume(path, connect):
    size, headers = path.stat().st_size, {"Repr-Digest": checksum(path)}
    line = connect()
    line.request("HEAD", f"/models/{path.name}", headers=headers)
    answer = line.getresponse()
    answer.read()
    if answer.headers["Upload-Complete"] == "?1":
        return
    first = int(answer.headers["Upload-Offset"])
    with open(path, "rb") as file:
        while first < size:
            try:
                file.seek(first)
                line.putrequest("PUT", f"/models/{path.name}")
                more = {
                    "Content-Range": f"bytes {first}-{size - 1}/{size}",
                    "Content-Length": str(size - first),
                }
                for name, value in (headers | more).items():
                    line.putheader(name, value)
                line.endheaders()
                while piece := file.read(2**16):
                    line.send(piece)
                    first += len(piece)
                line.getresponse().read()
            except (ConnectionError, HTTPException):
                line = connect()
