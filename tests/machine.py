"""`make machine`: a class's hub on a Debian with systemd as process 1, in a machine that QEMU
emulates.

machine.toml says how each kind of machine is made and started, and has the steps: scripts that
bash(1) runs there, as root. The user `teacher` has a clone of what's committed, and root has the
students' edition. A disk is made once and stays in FOLDER. What a run writes on it goes with the
run; what the steps print stays. The exit code says whether all steps ended with zero.
"""

import argparse
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from helpers.folders import BUILD, ROOT

FOLDER = Path("/var/cache/zero-copy-machine")
ALL = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ROWS = ALL["row"]
STEPS = ALL["step"]
TRIES = 100  # to log in after a start; while the machine boots, each takes up to 20 s


def kept(name: str) -> Path:
    """The folder with the disk, kernel and key of this row. Makes it if it isn't there: ten
    minutes, and 0.7 GiB.
    """
    folder = FOLDER / name
    new = FOLDER / f"{name}.new"
    if folder.exists():
        return folder
    print(f"{name}: makes its disk …", flush=True)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    settings = ROWS[name] | {
        "mirror": subprocess.check_output([ROOT / ".ci/mirror"], text=True).strip()
    }
    made = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", ALL["disk"]], cwd=new, env=os.environ | settings
    )
    if made.returncode:
        sys.exit(f"{name}: no disk could be made: see {new}/log")
    return new.rename(folder)


@contextmanager
def running(name: str) -> Iterator[list[str]]:
    """Starts the machine, and yields the command that runs commands there."""
    folder = kept(name)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = shlex.split(ALL["qemu"].format(port=port, **ROWS[name]))
    with subprocess.Popen(command, cwd=folder, env=os.environ | {"TMPDIR": str(folder)}) as process:
        try:
            yield shlex.split(ALL["ssh"].format(port=port, folder=folder))
        finally:
            process.terminate()


def booted(there: Sequence[str], before: str = "") -> str:
    """Waits until somebody can log in, after the boot `before`. Returns the name of the new one."""
    for _ in range(TRIES):
        asked = subprocess.run(
            [*there, "cat /proc/sys/kernel/random/boot_id"], capture_output=True, text=True
        )
        if asked.stdout not in ("", before):
            return asked.stdout
        time.sleep(1)
    sys.exit(f"Nobody can log in: see {FOLDER}/*/console")


def holds(name: str, chosen: Sequence[str]) -> bool:
    """Runs these steps on the row's machine until one fails, and prints how long each took. Has
    none failed?
    """
    with running(name) as there:
        boot = booted(there)
        source = subprocess.check_output(
            ["git", "-c", "safe.directory=*", "archive", "HEAD"], cwd=ROOT
        )
        edition = (BUILD / "class" / "zero-copy-measured.zip").read_bytes()
        for command, data in ((ALL["clone"], source), ("cat >class.zip", edition)):
            subprocess.run([*there, command], input=data, check=True)
        for step in chosen:
            print(f"{name}: {step} …", end=" ", flush=True)
            began = time.monotonic()
            if STEPS[step].get("boot"):
                subprocess.run([*there, "systemctl reboot"])
                boot = booted(there, boot)
            with (FOLDER / name / f"{step}.log").open("wb") as log:
                script = ALL["before"] + STEPS[step]["run"]
                ran = subprocess.run(
                    [*there, "bash -euxo pipefail"], input=script.encode(), stdout=log, stderr=log
                )
            print(f"{time.monotonic() - began:.0f} s", flush=True)
            if ran.returncode:
                print(
                    f"It failed: {log.name} ends with",
                    *Path(log.name).read_text().splitlines()[-20:],
                    sep="\n",
                )
                return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=["bookworm"])
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("debootstrap needs root: sudo make machine")
    if missing := [tool for tool in ALL["tools"] if not shutil.which(tool)]:
        sys.exit(f"There is no {', no '.join(missing)}. Debian's packages: {ALL['packages']}")
    return 0 if all([holds(name, options.steps) for name in options.rows]) else 1


if __name__ == "__main__":
    sys.exit(main())
