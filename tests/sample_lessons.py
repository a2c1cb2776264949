"""Two small lessons that hold every kind of cell and output, for the tests of the handouts. Nothing
is executed.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from matplotlib.figure import Figure
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers import publish
from helpers.casebook import files
from helpers.copies.files import libraries
from helpers.measure.tables import html_table
from helpers.show import Table
from helpers.show.figure import picture
from helpers.teach import Exercise, predict
from helpers.teach.claims import Claim, Known
from helpers.teach.controls import Noticed, Tried
from helpers.teach.exercises import read
from helpers.teach.judging import Verdict
from helpers.teach.quizzes import Choice, Quiz
from helpers.widgets import VIEW

LONG_LINE = (
    'report = {"method": "read", "anonymous": 268435456, "file": 0, "shared": 0, "end":'
    ' "of-a-long-line"}'
)
EXERCISES = Path(__file__).parent / "sample_exercises"
EXERCISE = read(EXERCISES / "02" / "sample")
QUIZ = Quiz(
    "02.sample",
    "Why does the heap counter show nothing for a mapping?",
    (
        Choice("It is too small", False, "It is as large as the file."),
        Choice("No allocator was asked", True, "The pages are the page cache’s."),
    ),
)
CLAIM = Claim(
    Known(
        "slurp",
        "A copy needs the file's size.",
        "misleading",
        "`read` does.",
        "Peaks.",
        "read(2)",
        ("02",),
    ),
    True,
    "read: 256 MiB anonymous; chunks: 1.02 MiB.",
)
CASE = Tried("heap-counter", "the mapping in its place", False, "1.02 MiB", ("peak > 0.9",))
NOTICED = Noticed((CASE,), {})._repr_mimebundle_()["text/html"]
CUT = (
    'def cut(path):\n    """Half."""\n    return None if path is True else f"{path!r}\\n",'
    " rb\"\xff\", 0xFF, 'read'"
)
PREDICT = predict(
    "02.sample", "How much memory does `read` take at its peak, for a file of 256 MiB?"
)
METERS = (
    "method|anonymous, peak|file-backed, peak|shared, peak|resident, peak|heap, peak, in a run of "
    "its own|minor faults|major faults|waits|read calls|write calls|read from device|time|user "
    "time|system time"
)
COSTS = """\
read|256 MiB|0 B|0 B|256 MiB|256 MiB|65,612|0|12|2|1|0 B|0.21 s|0.01 s|0.2 s
map, send|0 B|256 MiB|0 B|256 MiB|412 B|4,112|0|3|0|1|0 B|0.11 s|0 s|0.1 s
copy_file_range|0 B|0 B|0 B|0 B|not measured here|2|0|1|0|1|0 B|0.1 s|0 s|0.1 s"""
# Their texts, each under its name.
TEXTS = (Path(__file__).parent / "sample_lessons.md").read_text(encoding="utf-8")
OPENING, COPY_OPENING, ASK, DEMO, RUN, WHY, RECAP = re.findall(
    r"<!-- \w+ -->\n(.*?)\n(?=<!|\Z)", TEXTS, re.DOTALL
)
# A few that refer to one another alone: drawn, told in words, and not run.
CASES = [
    files.read(files.CASES / name)
    for name in (
        "rows-keep-the-file",
        "pickled-slice-is-large",
        "zeros-are-not-there",
        "bus-error-when-cut",
        "changed-under-my-array",
        "windows-file-is-mapped",
    )
]


def exercise(key: str) -> Exercise:
    return {EXERCISE.key: EXERCISE}[key]


# its rows have all that a row can have
CALLS = [library for library in libraries() if library.name == "polars"]
handouts = partial(publish.handouts, exercise=exercise, cases=CASES, calls=CALLS)


def write(folder: Path) -> list[Path]:
    """Writes both lessons as files, as if they had been executed."""
    paths = [folder / "00_look_first.ipynb", folder / "02_copy_all.ipynb"]
    for path, notebook in zip(paths, (look_first(), copy_all()), strict=True):
        nbformat.write(notebook, path)
    return paths


def lesson(*cells: NotebookNode) -> NotebookNode:
    """A lesson with an opening, and these cells after it."""
    return new_notebook(cells=[new_markdown_cell(OPENING, id="look-opening"), *cells])


def shows(shown: Any, source: str = "shown", name: str = "look-shown") -> NotebookNode:
    """A code cell that shows this object, or this HTML."""
    html = shown if isinstance(shown, str) else shown._repr_html_()
    output = new_output("display_data", {"text/html": html, "text/plain": repr(shown)})
    return new_code_cell(source, id=name, outputs=[output])


def look_first() -> NotebookNode:
    return lesson(new_markdown_cell("Next: [Copy all](02_copy_all.ipynb#Run-it)", id="look-next"))


def copy_all() -> NotebookNode:
    view = new_output("display_data", {VIEW: {"model_id": ""}, "text/html": ""})
    asked = new_output("display_data", PREDICT._copy())
    calls, sizes = (
        new_output("stream", name="stdout", text=text)
        for text in ("calls  1\n", "bytes  268,435,456\n")
    )
    define = f"def read(path):  # all of it\n    return path.read_bytes()\n\n{LONG_LINE}"
    note = {"tags": ["teacher"]}
    starter = {"tags": ["exercise"]}
    folded = {"tags": ["imports"], "jupyter": {"source_hidden": True}}
    return new_notebook(
        cells=[
            new_markdown_cell(COPY_OPENING, id="copy-opening"),
            new_markdown_cell(ASK, id="copy-ask", metadata=note),
            new_code_cell("# imports\nimport shutil", id="copy-imports", metadata=folded),
            new_markdown_cell(RUN, id="copy-run-text"),
            new_code_cell(
                'predict("02.read", "How much?")', id="copy-predict", outputs=[view, asked]
            ),
            new_code_cell(define, id="copy-define", outputs=[calls, sizes]),
            shows(figure(), "curves(costs)", "copy-curves"),
            shows(costs(), "costs", "copy-table"),
            shows(PREDICT.beside(256 << 20), "guess.beside(peak)", "copy-beside"),
            shows(CLAIM, 'claim("slurp-costs-file", …)', "copy-claim"),
            shows(NOTICED, 'noticed("02")', "copy-claim-controls"),
            shows(
                Table("A cut file.", ("bytes", "of them"), [("0xFF", "2 of 3")]), CUT, "copy-cut"
            ),
            new_markdown_cell(WHY, id="copy-why"),
            shows(QUIZ, 'quiz("02.sample")', "copy-quiz"),
            shows(EXERCISE, 'exercise("02.sample")', "copy-exercise"),
            new_code_cell(EXERCISE.starter, id="copy-starter", metadata=starter),
            shows(
                Verdict("not attempted", "Fill in `copy`."),
                'exercise("02.sample").check(copy)',
                "copy-check",
            ),
            new_markdown_cell(DEMO, id="copy-demo", metadata=note),
            new_markdown_cell(RECAP, id="copy-recap"),
        ]
    )


def costs() -> str:
    return html_table(
        "Growth during the call", METERS.split("|"), [row.split("|") for row in COSTS.splitlines()]
    )


def figure() -> Any:
    drawing = Figure(figsize=(6.8, 2.6), layout="constrained")
    for axes, name in zip(drawing.subplots(1, 2, sharey=True), ("read", "mmap"), strict=True):
        axes.fill_between([0, 1, 2, 3], [0, 256, 256, 0])
        axes.set(title=name, xlabel="seconds", ylabel="MiB")
    alt = "read: 256 MiB anonymous at its peak, 0 file; mmap: 0 anonymous, 256 MiB file."
    return picture(
        drawing,
        alt,
        "The same file, copied in two ways. What mmap shows is lent by the page cache.",
    )
