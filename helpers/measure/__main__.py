"""`python -m helpers.measure script.py …`: what a script of one's own takes: a table, a picture, JSON.

The script runs as `python script.py …` runs it, in a fresh process with an empty standard input. What it prints appears
at once. Ctrl-C ends it, and the table has what was measured until then.
"""

import argparse
import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..folders import write_whole
from .account import AT_THE_END, NO_STACK, STACK, notes, rows
from .recording import Recording
from .run import Options, imports_of_ours, measured
from .tables import text_table

kept: Any = None


def as_main(script: str, arguments: list[str]) -> int:
    """Runs there, and travels by value. Returns the script's exit status."""
    import runpy
    import sys

    global kept
    sys.argv, sys.path[0] = [script, *arguments], os.path.dirname(os.path.abspath(script))
    try:
        kept = runpy.run_path(script, run_name="__main__")  # what its names hold is still there when it ends
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}", description="Runs a script in a fresh process, and tells what memory it takes."
    )
    add = parser.add_argument
    add("-o", "--output", type=Path, help="draw the curves here, as .png or .svg")
    add("--json", type=Path, help="keep the recording here")
    add("-i", "--interval", type=float, default=0.01, help="seconds between two samples, 0.01 if not given")
    add("-t", "--timeout", type=float, default=float("inf"), help="seconds until it is stopped; no limit if not given")
    add("--modules", default="", help="modules to import before, so that they don't count: --modules numpy,pandas")
    add("--stack", action="store_true", help="run it once more, traced, for the Python stack at the peak")
    add("-f", "--function", action="append", default=[], help="mark the calls of a function: -f module:function")
    add("script", help="a Python file")
    add("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    options = parser.parse_args()
    if not os.path.isfile(options.script):
        parser.error(f"there is no file {options.script}")
    try:
        run = recorded(options)
    except (TypeError, ValueError, TimeoutError) as error:
        parser.error(str(error))
    tell(run, options)
    keep(run, options)
    return run.value if run.ended == "returned" else 1


def recorded(options: argparse.Namespace) -> Recording:
    asked_to_stop = []
    signal.signal(signal.SIGINT, lambda *_: asked_to_stop.append("interrupted"))
    how = Options(
        interval=options.interval,
        timeout=options.timeout,
        modules=("runpy", *options.modules.split(","), *instruments(options.script)),
        calls=options.function,
        printed=sys.stdout.fileno(),
        stop=lambda: asked_to_stop[0] if asked_to_stop else None,
    )
    return measured(
        as_main, (options.script, options.arguments), how, stack=options.stack, name=Path(options.script).name
    )


def instruments(script: str) -> list[str]:
    with suppress(SyntaxError, ValueError):  # which the script's own run will show
        return imports_of_ours(ast.parse(Path(script).read_bytes()))
    return []


def tell(run: Recording, options: argparse.Namespace) -> None:
    if run.ended == "raised":
        head, frame, own = run.error.partition(f'  File "{options.script}"')
        print("Traceback (most recent call last):" * bool(own), (frame + own or head).rstrip(), sep="\n")
    print("", text_table(("meter", "measured"), rows([run])), "", AT_THE_END, *notes(run), sep="\n")
    if options.stack:
        print(STACK + (run.stack or NO_STACK))
    if run.ended not in ("returned", "raised"):
        print(f"It didn't end by itself: {run.ended}.")


def keep(run: Recording, options: argparse.Namespace) -> None:
    """As JSON, and as a picture, which a program of its own draws from the JSON."""
    plain = json.dumps(run.to_json()).encode()
    if options.json:
        write_whole(options.json, plain)
    if options.output:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "run.json").write_bytes(plain)
            show = f"{__package__.rpartition('.')[0]}.show"
            subprocess.run([sys.executable, "-m", show, Path(folder, "run.json"), "-o", options.output], check=False)


if __name__ == "__main__":
    sys.exit(main())
