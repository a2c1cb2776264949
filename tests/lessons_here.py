"""Runs every lesson on this machine, and tells what was measured and what was recorded: build/lessons_here.md.

The workflows run it on macOS and Windows, where a part of the meters is missing.
"""

import re
import sys

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from helpers.folders import BUILD, generated, write_whole
from helpers.measure.machine import here
from helpers.publish import LessonFailed, executed, lessons

REPORT = BUILD / "lessons_here.md"
HEAD = """# Lessons on {}

| lesson | claims that hold | claims not measured | cells with recorded figures | why these are recorded |
|---|---:|---:|---:|---|
"""


def row(name: str, notebook: NotebookNode) -> str:
    """A line of the table, for an executed lesson."""
    own = [cell for cell in notebook.cells if cell.get("outputs") and "controls" not in cell.metadata.get("tags", ())]
    shown = [
        "\n".join(one.get("text") or one.get("data", {}).get("text/html", "") for one in cell.outputs) for cell in own
    ]
    verdicts = re.findall('data-verdict="(.+?)"', "\n".join(shown))
    recorded = [text for text in shown if "Recorded figures, made on: " in text]
    why = dict.fromkeys(re.findall(r"(.+)\. Recorded figures, made on: ", "\n".join(recorded)))
    counts = (verdicts.count("holds"), verdicts.count("not measured"), len(recorded))
    return f"| {name} | {' | '.join(map(str, counts))} | {'; '.join(why)} |"


def main() -> int:
    rows, failed = [], 0
    for lesson in tqdm(lessons(), desc="running the lessons", unit="lesson"):
        try:
            rows.append(row(lesson.stem, nbformat.read(executed(lesson), as_version=4)))
        except LessonFailed as error:
            failed += 1
            rows.append(f"| {lesson.stem} | | | | failed: {str(error).splitlines()[0]} |")
    report = HEAD.format(here(generated())) + "\n".join(rows) + "\n"
    write_whole(REPORT, report)
    sys.stdout.reconfigure(errors="replace")  # a Windows console has few characters
    print(report)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
