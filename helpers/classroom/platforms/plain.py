"""A folder or a file for each student, named by the teacher: `me/02_copy_a_big_file.ipynb`,
`me.zip`, `02_me.zip` or `me.ipynb`. There is nothing to write back.

A file was handed in when it was last written, if it wasn't copied here then. Times in a zip have no
zone: they only say which of two is newer.
"""

import re
from collections.abc import Collection

from . import Owner

# Windows and browsers add an ending to a notebook's, and some hide it
FORM = re.compile(
    r"(?P<folder>.*)/|(?:[0-9]{2}_)?(?P<zip>.*)(?i:\.zip)|(?P<notebook>.*)(?i:\.ipynb(?:\.txt|\.json)?)",
    re.S,
)


def read(names: Collection[str]) -> dict[str, Owner]:
    found = {name: FORM.fullmatch(name) for name in names}
    stems = {name: one[one.lastgroup] for name, one in found.items() if one}
    return {name: Owner("plain", stem, stem, file=name) for name, stem in stems.items()}
