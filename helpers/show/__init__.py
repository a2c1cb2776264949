"""Show what was measured: pictures with alternative text, tables, and interactive pictures.

`curves` memory over time, one panel per method · `bars` and `table` method x meter · `shared_table`
process x meter · `copy_paths` what is copied how often · `copy_budget` what one way copies, place
by place · `lines` several things by a number · `dial` a slider over what was measured at each
position of a knob · `page_film` the state of every page · `page_explorer` the same, live ·
`page_tables` which pages a process and its child point at · `rust` a Rust twin · `memory_words`
words and addresses · `gallery` small pictures, such as digits, and what a model took them for.
magic.py is `%measure`.
Every chart declares rows, which chart.py lays out, and returns a picture with alternative text.
What one lesson alone draws is in `lessons`.
"""

from .copy_budget import copy_budget
from .curves import curves
from .dial import dial
from .explorer import page_explorer
from .gallery import gallery
from .lines import lines
from .memory_words import memory_words
from .meters import Table, bars, shared_table, table
from .page_tables import page_tables
from .pages import page_film
from .paths import copy_paths
from .rust import rust
