import os
import sqlite3

entries, length = 1000, 100
os.mkdir("cache")
with sqlite3.connect("cache/all.db") as cache:
    cache.execute("CREATE TABLE entries (name PRIMARY KEY, value)")
    for number in range(entries):
        cache.execute("INSERT INTO entries VALUES (?, ?)", (str(number), b"x" * length))
cache.close()

found = [entry.stat() for entry in os.scandir("cache")]
files, on_disk = len(found), sum(stat.st_blocks * 512 for stat in found)
