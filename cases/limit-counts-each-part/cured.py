import logging
import logging.handlers
import os

limit, parts, line = 200_000, 10, "x" * 999
each = limit // parts

for part in range(parts):
    handler = logging.handlers.RotatingFileHandler(
        f"part-{part}.log", maxBytes=each // 2, backupCount=1
    )
    log = logging.getLogger(f"part-{part}")
    log.addHandler(handler)
    for _ in range(290):
        log.error(line)
    handler.close()
on_disk = sum(entry.stat().st_size for entry in os.scandir() if ".log" in entry.name)
