import sqlite3

limit = 8 << 20
database = sqlite3.connect(":memory:")
database.execute(f"PRAGMA hard_heap_limit = {limit}")

numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 400)"
row = database.execute(f"{numbers} SELECT group_concat(hex(zeroblob(1 << 14))) FROM c").fetchone()
letters = len(row[0])
