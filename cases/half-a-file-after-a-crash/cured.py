import json
import os
import signal
import tempfile

recent = [f"file {n}" for n in range(1000)]


def save(crash):
    with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
        for part in json.JSONEncoder().iterencode({"theme": "dark", "recent": recent}):
            file.write(part)
            if crash:
                os.kill(os.getpid(), signal.SIGKILL)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, "settings.json")


save(crash=False)
if (program := os.fork()) == 0:
    save(crash=True)
os.waitpid(program, 0)
with open("settings.json") as file:
    loaded = len(json.load(file)["recent"])
