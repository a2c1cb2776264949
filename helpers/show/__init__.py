"""Show what was measured: pictures with alternative text, tables, and pictures that move.

`curves` one panel a method over time · `bars` and `table` method x meter · `shared_table` process x meter ·
`quadrants` two questions at once · `copy_paths` what is copied how often · `sweep` a slider over chunk sizes ·
`page_grid` and `page_film` the state of every page · `page_explorer` the same, live. Every picture is made by
`picture`, so that none lacks its alternative text.
"""

from .curves import curves
from .explorer import page_explorer
from .figure import Interactive, Picture, picture
from .meters import Table, bars, shared_table, table
from .pages import page_film, page_grid
from .paths import copy_paths
from .quadrants import quadrants
from .recorded import recorded_table
from .sweep import sweep, sweep_figure

__all__ = [
    "Interactive",
    "Picture",
    "Table",
    "bars",
    "copy_paths",
    "curves",
    "page_explorer",
    "page_film",
    "page_grid",
    "picture",
    "quadrants",
    "recorded_table",
    "shared_table",
    "sweep",
    "sweep_figure",
    "table",
]
