import multiprocessing
import zlib


def work(table):
    check = zlib.crc32(table)
    with open("/proc/self/status") as file:
        return check, int(file.read().split("RssAnon:")[1].split()[0]) << 10


if __name__ == "__main__":
    size = 36 << 20
    with open("table", "wb") as file:
        file.write(b"number" * (size // 6))
    with open("table", "rb") as file:
        table = file.read()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        check, in_worker = pool.apply(work, (table,))
