"""Runs lessons as a student has them, and says how their claims come out. With the lessons' numbers, in a container:

podman run --rm -i --cap-drop all --memory 2g zero-copy-measured /srv/zero-copy/course/.venv/bin/python - 01 02 \\
  <classroom/image/run_lessons.py
"""

import re
import subprocess
import sys
import time
from collections import Counter

import nbformat
from nbclient import NotebookClient

from helpers.folders import work

subprocess.run([sys.executable, "-m", "helpers.teach.work"], check=True, stdout=subprocess.DEVNULL)
wrong = []
for number in sys.argv[1:]:
    (path,) = work().glob(f"{number}_*.ipynb")
    notebook, began = nbformat.read(path, as_version=4), time.monotonic()
    NotebookClient(notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": path.parent}}).execute()
    verdicts, recorded = Counter(), 0
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            verdicts.update(re.findall(r'class="zc-claim" data-verdict="([^"]+)"', html))
            recorded += "Recorded figures" in output.get("text", "")
            if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", ()):
                wrong.append(f"{number}, cell {cell.id}: {output.ename}: {output.evalue}")
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    if verdicts["differs"] or (verdicts and not verdicts["holds"]):  # that none could be measured is wrong, too
        wrong.append(f"{number}: claims: {said}")
    print(f"{number}: {time.monotonic() - began:.0f} s; claims: {said}; recorded runs: {recorded}", flush=True)
sys.exit("\n".join(wrong) or None)
