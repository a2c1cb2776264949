"""The casebook: real failures by what one sees, each run broken and cured.

from helpers.casebook import case, cases

cases("killed") lists, `case("workers-grow")` shows one and measures it here. The cases are files in
cases/.
"""

from .shown import case, cases
