# expect: gave-up
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
    more = {
        "Content-Range": f"bytes {first}-{size - 1}/{size}",
        "Content-Length": str(size - first),
    }
    with open(path, "rb") as file:
        file.seek(first)
        line.request("PUT", f"/models/{path.name}", file, headers | more)
        line.getresponse().read()
    line.close()
