# on: linux
from contextlib import closing
from http.client import HTTPException

from helpers.ideas.upload import checksum


def resume(path, connect):
    import os
    import time

    url, digest, size = f"/models/{path.name}", checksum(path), path.stat().st_size

    def there():
        with closing(connect()) as line:
            line.request("HEAD", url, headers={"Repr-Digest": digest})
            told = line.getresponse().headers
            return size if told["Upload-Complete"] == "?1" else int(told["Upload-Offset"])

    with open(path, "rb") as file:
        while True:
            try:
                if (at := there()) == size:
                    return
                with closing(connect()) as line:
                    line.putrequest("PUT", url)
                    line.putheader("Repr-Digest", digest)
                    line.putheader("Content-Range", f"bytes {at}-{size - 1}/{size}")
                    line.putheader("Content-Length", str(size - at))
                    line.endheaders()
                    line.sock.setblocking(True)
                    while at < size:
                        at += os.sendfile(line.sock.fileno(), file.fileno(), at, size - at)
                    line.getresponse()
            except (OSError, HTTPException) as error:
                print("again, because of", error)
                time.sleep(0.05)
