"""`%run {EXERCISES}/10/clinic/start.py` starts the clinic's three programs: gauge, pool, titles."""

import json
import subprocess
import sys

from helpers.folders import EXERCISES, generated

PROGRAMS = EXERCISES / "10/clinic/programs.py"


class Program(subprocess.Popen):
    """A program at work, with its `pid`. It ends with this process, or with a `with` block."""

    def __init__(self, name: str):
        pipe = subprocess.PIPE
        command = [sys.executable, PROGRAMS, name, generated()]
        # in a session of its own: interrupting a cell, which signals the kernel's group, ends none
        super().__init__(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        if not self.stdout.readline():
            raise OSError(f"{name} didn't start: it needs Linux or macOS")

    def ask(self, expression: str) -> None:
        """Prints what an expression evaluates to in the program, or its error."""
        print(json.dumps(expression), file=self.stdin, flush=True)
        print(json.loads(self.stdout.readline()))


if __name__ == "__main__":
    gauge, pool, titles = map(Program, ("gauge", "pool", "titles"))
