"""Runs every lesson on this machine, and tells what was measured and what was recorded, in
build/lessons_here.md: for the workflows on macOS and Windows, which lack a part of the meters.
"""

import re
import sys

import nbformat
from tqdm import tqdm

from helpers.folders import BUILD, generated, write_whole
from helpers.measure.machine import here
from helpers.publish import LessonFailed, executed, lessons

HEAD = """# Lessons on {}

| lesson | claims that hold | not measured | cells with recorded figures | why these are recorded |
|---|---:|---:|---:|---|
"""


def row(name: str, notebook: nbformat.NotebookNode) -> str:
    """A line of the table, for an executed lesson."""
    cells = [
        cell
        for cell in notebook.cells
        if cell.get("outputs") and "controls" not in cell.metadata.get("tags", ())
    ]
    shown = [
        "\n".join(
            one.get("text") or one.get("data", {}).get("text/html", "") for one in cell.outputs
        )
        for cell in cells
    ]
    verdicts = re.findall('data-verdict="(.+?)"', "\n".join(shown))
    recorded = [text for text in shown if "Recorded figures, made on: " in text]
    why = dict.fromkeys(re.findall(r"(.+)\. Recorded figures, made on: ", "\n".join(recorded)))
    counts = f"{verdicts.count('holds')} | {verdicts.count('not measured')} | {len(recorded)}"
    return f"| {name} | {counts} | {'; '.join(why)} |"


if __name__ == "__main__":
    rows, failed = [], False
    for lesson in tqdm(lessons(), desc="running the lessons", unit="lesson"):
        try:
            rows.append(row(lesson.stem, nbformat.read(executed(lesson), as_version=4)))
        except LessonFailed as error:
            rows.append(f"| {lesson.stem} | | | | failed: {str(error).splitlines()[0]} |")
            failed = True
    BUILD.mkdir(exist_ok=True)
    write_whole(BUILD / "lessons_here.md", HEAD.format(here(generated())) + "\n".join(rows) + "\n")
    sys.exit(failed)
