import shutil
import subprocess

program = shutil.which("sleep")
shutil.copy(program, "sleep")
server = subprocess.Popen(["./sleep", "60"])
try:
    shutil.copy(program, "sleep")  # the new version
    still_runs = server.poll() is None
finally:
    server.kill()
    server.wait()
