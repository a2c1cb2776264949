import os
import sqlite3

path = "app.db"
writer = sqlite3.connect(path, timeout=0, isolation_level=None)
writer.execute("PRAGMA journal_mode=WAL")
writer.execute("CREATE TABLE log (line BLOB)")
reader = sqlite3.connect(path, timeout=0, isolation_level=None)
reader.execute("BEGIN")
rows = reader.execute("SELECT count(*) FROM log").fetchone()
reader.execute("COMMIT")
for _ in range(40):
    writer.execute("INSERT INTO log VALUES (zeroblob(250000))")
writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
wal = os.path.getsize(path + "-wal")
