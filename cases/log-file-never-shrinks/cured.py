import os
import sqlite3

rows, length = 16_000, 1000
with sqlite3.connect("log.db") as db:
    db.execute("create table log (id integer primary key, line)")
    db.executemany("insert into log (line) values (?)", ((b"x" * length,) for _ in range(rows)))
with db:
    db.execute("delete from log where id > 100")
db.execute("vacuum")
on_disk = os.path.getsize("log.db")
