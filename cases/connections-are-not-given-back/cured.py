import sqlite3
from queue import Queue

pool = Queue()
for _ in range(5):
    pool.put(sqlite3.connect(":memory:"))


def request(text):
    connection = pool.get(timeout=0.5)
    try:
        rows = connection.execute(text).fetchall()
    except sqlite3.Error:
        rows = []
    finally:
        pool.put(connection)
    return rows


for _ in range(5):
    request("select * from nothing")
answers = len(request("select 1"))
