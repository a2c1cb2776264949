"""A name, the file that it leads to, and the file that a mapping holds, after something was done to
the name or to the file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ...measure import regions  # no figures here: a process imports this to be measured


def standing(path: Path, view: np.memmap) -> dict[str, Any]:
    """Two files, each as its inode, its length in bytes and a byte of it: the one that `path`
    names, None if the name is gone, and the one that the mapping below `view` holds. Linux:
    elsewhere the mapping's inode isn't told.
    """
    (region,) = [one for one in regions() if one.start <= view.ctypes.data < one.end]
    named = None
    if path.exists():
        status = path.stat()
        named = [status.st_ino, status.st_size, path.read_bytes()[-1]]
    mapping = view.base
    held = [region.inode, mapping.size(), int(view[0])]
    return {"named": named, "held": held, "mapped": len(mapping)}
