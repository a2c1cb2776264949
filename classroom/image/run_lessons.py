"""Runs lessons in a container, and says how their claims come out:

    podman run --rm -i zero-copy-measured /srv/zero-copy/course/.venv/bin/python - 01 02 < classroom/image/run_lessons.py
"""

import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from helpers.folders import work

subprocess.run([sys.executable, "-m", "helpers.teach.work"], check=True, stdout=subprocess.DEVNULL)
bad = []
for number in sys.argv[1:]:
    path = next(work().glob(f"{number}_*.ipynb"))
    notebook, began = nbformat.read(path, as_version=4), time.monotonic()
    NotebookClient(notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": path.parent}}).execute()
    claims, recorded = Counter(), 0
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            html = output.get("data", {}).get("text/html", "")
            claims.update(re.findall(r'class="zc-claim" data-verdict="([^"]+)"', html))
            recorded += "Recorded figures" in output.get("text", "")
            if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", ()):
                bad.append(f"{number}, {cell.id}: {output.ename}: {output.evalue}")
    bad += [f"{number}: {claims['differs']} claims differ"] if claims["differs"] else []
    print(f"{number}: {time.monotonic() - began:.0f} s; claims: {dict(claims)}; recorded runs: {recorded}", flush=True)
sys.exit("\n".join(bad) or None)
