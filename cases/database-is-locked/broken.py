import sqlite3

with sqlite3.connect("app.db") as database:
    database.execute("CREATE TABLE jobs (name)")
database.execute("INSERT INTO jobs VALUES ('nightly')")

other = sqlite3.connect("app.db", timeout=0.1)
with other:
    other.execute("INSERT INTO jobs VALUES ('hourly')")
