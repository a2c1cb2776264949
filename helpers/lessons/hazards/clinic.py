"""The clinic: three programs that somebody else wrote, each with a fault in how it uses memory."""

import json
from subprocess import PIPE, Popen
from sys import executable

from ...folders import EXERCISES, generated

PROGRAMS = EXERCISES / "10/clinic/programs.py"
_admitted: list["Program"] = []


class Program(Popen):
    """A program at work, with its `pid`. It ends, and removes its files, at the end of a `with`
    block, or with this process.
    """

    def __init__(self, name: str):
        command = (executable, PROGRAMS, name, generated())
        super().__init__(command, stdin=PIPE, stdout=PIPE, text=True)
        if not self.stdout.readline():
            raise OSError(f"{name} didn't start: it needs Linux or macOS")

    def ask(self, expression: str) -> None:
        """Prints what an expression evaluates to in the program, or its error."""
        print(json.dumps(expression), file=self.stdin, flush=True)
        print(json.loads(self.stdout.readline()))


def admit() -> list[Program]:
    """Starts the three: gauge, pool and titles. Those that were running are ended first."""
    discharge()
    _admitted.extend(map(Program, ("gauge", "pool", "titles")))
    return [*_admitted]


def discharge() -> None:
    """Ends the programs that `admit` has started."""
    while _admitted:
        with _admitted.pop():
            pass
