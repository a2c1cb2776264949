import os
import shutil
import subprocess

program = shutil.which("sleep")
shutil.copy(program, "sleep")
server = subprocess.Popen(["./sleep", "60"])
try:
    shutil.copy(program, "sleep.new")  # the new version
    os.replace("sleep.new", "sleep")
    still_runs = server.poll() is None
finally:
    server.kill()
    server.wait()
