"""Runs lessons as a student has them, and says how their claims come out. With the lessons'
numbers, in a container:

podman run --rm -i --cap-drop all --memory 2g zero-copy-measured
  /srv/zero-copy/course/.venv/bin/python - 01 02 \\
  <classroom/image/run_lessons.py

A lesson whose claims differ is run again, as on a busy machine they may: one of three runs must be
right.
"""

import re
import subprocess
import sys
import time
from collections import Counter

import nbformat
from nbclient import NotebookClient

from helpers.folders import work

TRIES = 3


def wrong_in(number: str) -> list[str]:
    """Runs a lesson, prints how its claims come out, and returns what is wrong."""
    (path,) = work().glob(f"{number}_*.ipynb")
    notebook, began = nbformat.read(path, as_version=4), time.monotonic()
    NotebookClient(
        notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": path.parent}}
    ).execute()
    verdicts, recorded, wrong = Counter(), 0, []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            for verdict, told in re.findall(
                r'class="zc-claim" data-verdict="([^"]+)">(.*?)</dl>', html, re.DOTALL
            ):
                verdicts[verdict] += 1
                if verdict == "differs":
                    wrong.append(
                        f"{number}, cell {cell.id}: "
                        f"{' '.join(re.sub('<[^>]+>', ' ', told).split())}"
                    )
            recorded += "Recorded figures" in output.get("text", "")
            if output.output_type == "error" and "raises-exception" not in cell.metadata.get(
                "tags", ()
            ):
                wrong.append(f"{number}, cell {cell.id}: {output.ename}: {output.evalue}")
    if verdicts and not verdicts["holds"]:
        wrong.append(f"{number}: none of its claims could be measured")
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    print(
        f"{number}: {time.monotonic() - began:.0f} s; claims: {said}; recorded runs: {recorded}",
        flush=True,
    )
    return wrong


subprocess.run([sys.executable, "-m", "helpers.teach.work"], check=True, stdout=subprocess.DEVNULL)
red = False
for number in sys.argv[1:]:
    for _ in range(TRIES):
        if not (wrong := wrong_in(number)):
            break
        print(*wrong, sep="\n", flush=True)
    red |= bool(wrong)
sys.exit(red)
