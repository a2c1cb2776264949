import sqlite3

with sqlite3.connect(":memory:") as database:
    database.execute("CREATE TABLE log (line TEXT)")
    lines = ((f"{n:0200}",) for n in range(60_000))
    database.executemany("INSERT INTO log VALUES (?)", lines)

rows = database.execute("SELECT line FROM log")
letters = sum(len(line) for (line,) in rows)
