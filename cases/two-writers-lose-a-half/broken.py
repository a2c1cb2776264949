import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Lock

rows, part, chunk = 100, 50, 100
for start in range(0, rows, chunk):
    Path(f"chunk{start}").write_bytes(zlib.compress(bytes(chunk)))
at_once, writing = Barrier(2), Lock()


def fill(start):
    path, at = Path(f"chunk{start // chunk * chunk}"), start % chunk
    values = bytearray(zlib.decompress(path.read_bytes()))
    at_once.wait()
    values[at : at + part] = b"x" * part
    with writing:
        path.write_bytes(zlib.compress(values))


with ThreadPoolExecutor(2) as pool:
    list(pool.map(fill, range(0, rows, part)))
chunks = [zlib.decompress(path.read_bytes()) for path in Path().glob("chunk*")]
filled = sum(values.count(b"x") for values in chunks)
