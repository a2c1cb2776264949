import os

entries, length = 1000, 100
os.mkdir("cache")
for number in range(entries):
    with open(f"cache/{number}", "wb") as file:
        file.write(b"x" * length)

found = [entry.stat() for entry in os.scandir("cache")]
files, on_disk = len(found), sum(stat.st_blocks * 512 for stat in found)
