import logging.handlers
import os
import subprocess
import sys

service = "for number in range(4000): print('request', number, 'answered', '.' * 400)"
# stands for Docker, supervisor or nohup
keeper = logging.handlers.RotatingFileHandler("output.log")
printed = 0
with subprocess.Popen(
    [sys.executable, "-c", service], stdout=subprocess.PIPE, text=True
) as running:
    for line in running.stdout:
        printed += len(line)
        keeper.emit(logging.makeLogRecord({"msg": line.rstrip()}))
keeper.close()
kept = sum(os.path.getsize(name) for name in os.listdir() if name.startswith("output.log"))
