"""Show what was measured: pictures with alternative text, tables, and interactive pictures.

`curves` memory over time, one panel per method · `curves_and_samples` the same, and what mprof saw of it ·
`bars` and `table` method x meter · `shared_table` process x meter · `quadrants` two questions at once ·
`copy_paths` what is copied how often · `lines` several things by a number ·
`dial` a slider over what was measured at each position of a knob · `sweep` the same for chunk sizes ·
`page_film` the state of every page · `page_explorer` the same, live · `rust` a Rust twin ·
`owners` what keeps what alive · `memory_words` words and addresses · `crossover` which method is faster, and up to
where · `file_layout` the bytes of a safetensors file · `copy_budget` what each step from disk to object copies ·
`fractions` borrowed against owned · `gallery` small pictures, such as digits, and what a model took them for ·
`experts` how many of a model's experts are needed ·
`load_chart` a server under load, and `watched` the same while it runs · `outcomes` how a class did ·
`spread` and `votes` what a class predicted, beside what was measured.
magic.py is `%measure`: curves and a table for a line of the reader's own code.
`figure.picture` makes every picture, so each has its alternative text.
"""

from .copy_budget import copy_budget
from .crossover import crossover
from .curves import curves
from .dial import dial
from .experts import experts
from .explorer import page_explorer
from .file_layout import file_layout
from .fractions import fractions
from .gallery import gallery
from .lines import lines
from .load_chart import load_chart, watched
from .memory_words import memory_words
from .meters import Table, bars, shared_table, table
from .outcomes import outcomes
from .owners import owners
from .pages import page_film
from .paths import copy_paths
from .profiled import curves_and_samples
from .quadrants import quadrants
from .recorded import recorded_table
from .rust import rust
from .spread import spread, votes
from .sweep import sweep

__all__ = [
    "Table",
    "bars",
    "copy_budget",
    "copy_paths",
    "crossover",
    "curves",
    "curves_and_samples",
    "dial",
    "experts",
    "file_layout",
    "fractions",
    "gallery",
    "lines",
    "load_chart",
    "memory_words",
    "outcomes",
    "owners",
    "page_explorer",
    "page_film",
    "quadrants",
    "recorded_table",
    "rust",
    "shared_table",
    "spread",
    "sweep",
    "table",
    "votes",
    "watched",
]
