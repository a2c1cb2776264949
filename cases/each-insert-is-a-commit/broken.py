import sqlite3

database = sqlite3.connect("app.db", isolation_level=None)
database.execute("CREATE TABLE points (x)")
for x in range(100):
    database.execute("INSERT INTO points VALUES (?)", (x,))
stored = database.execute("SELECT count(*) FROM points").fetchone()[0]
