"""`python -m helpers.measure script.py …`: what a script of one's own takes: a table, a picture,
JSON.

The script runs as `python script.py …` runs it, in a fresh process with an empty standard input.
What it prints appears at once. Ctrl-C ends it, and the table has what was measured until then.
"""

import argparse
import ast
import json
import os
import runpy
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ..folders import write_whole
from .recording import Recording
from .run import Options, imports_of_ours, measured
from .run_report import notes, rows
from .tables import text_table

AT_THE_END = (
    "“At the end” is what was there after the script's last line: what its global names hold, and "
    "whatever else is still held."
)
kept: list[dict] = []


def as_main(script: str, arguments: list[str]) -> int:
    """Runs there, and travels by value. Returns the script's exit status."""
    sys.argv, sys.path[0] = [script, *arguments], os.path.dirname(os.path.abspath(script))
    try:
        # what its names hold is still there when it ends
        kept.append(runpy.run_path(script, run_name="__main__"))
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Runs a script in a fresh process, and tells what memory it takes.",
    )
    add = parser.add_argument
    add("-o", "--output", type=Path, help="draw the curves here, as .png or .svg")
    add("--json", type=Path, help="keep the recording here")
    add(
        "-i",
        "--interval",
        type=float,
        default=0.01,
        help="seconds between two samples, 0.01 if not given",
    )
    add(
        "-t",
        "--timeout",
        type=float,
        default=float("inf"),
        help="seconds until it is stopped; no limit if not given",
    )
    add(
        "--modules",
        default="",
        help="modules to import before, so that they don't count: --modules numpy,pandas",
    )
    add(
        "--stack",
        action="store_true",
        help=(
            "run it twice more, for the Python stacks that allocated what it had at its peak and "
            "at its end; each takes several times as long, and no reading is seen"
        ),
    )
    add(
        "--heap",
        action="store_true",
        help="run it once more, under tracemalloc: the heap at its peak and at the end",
    )
    add(
        "-f",
        "--function",
        action="append",
        default=[],
        help="mark the calls of a function: -f module:function, -f module:Class.method",
    )
    add("script", help="a Python file")
    add("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    options = parser.parse_args()
    if not os.path.isfile(options.script):
        parser.error(f"there is no file {options.script}")
    for place in options.function:
        if place.rpartition(":")[0] in ("", "__main__", Path(options.script).stem):
            parser.error(
                f"-f marks calls of a library, module:function, not {place!r}; in the script "
                "itself, call mark()"
            )
    modules = options.modules.split(",")
    asked_to_stop = []
    with suppress(SyntaxError, ValueError):  # which the script's own run will show
        modules += imports_of_ours(ast.parse(Path(options.script).read_bytes()))
    signal.signal(signal.SIGINT, lambda *_: asked_to_stop.append("interrupted"))
    arguments = (options.script, options.arguments)
    name = Path(options.script).name
    try:
        told = {name: getattr(options, name) for name in ("interval", "timeout", "heap", "stack")}
        told |= {"modules": modules, "calls": options.function, "printed": sys.stdout.fileno()}
        how = Options(**told, stop=lambda: asked_to_stop[0] if asked_to_stop else None)
        run = measured(as_main, arguments, how, name)
    except (TypeError, ValueError, TimeoutError) as error:
        parser.error(str(error))
    tell(run, options)
    plain = json.dumps(run.to_json())
    if options.json:
        write_whole(options.json, plain)
    if options.output:  # a program of its own draws it: this room knows nothing of pictures
        show = [sys.executable, "-m", f"{__package__.rpartition('.')[0]}.show", options.output]
        subprocess.run(show, input=plain.encode(), check=False)
    return run.value if run.ended == "returned" else 1


def tell(run: Recording, options: argparse.Namespace) -> None:
    """Prints what was measured."""
    if run.ended == "raised":
        head, frame, own = run.error.partition(f'  File "{options.script}"')
        print(
            "Traceback (most recent call last):" * bool(own),
            (frame + own or head).rstrip(),
            sep="\n",
        )
    print("", text_table(("meter", "measured"), rows([run])), "", AT_THE_END, *notes(run), sep="\n")
    if run.stack:
        print(run.stack)
    if run.ended not in ("returned", "raised"):
        print(f"It didn't end by itself: {run.ended}.")


if __name__ == "__main__":
    sys.exit(main())
