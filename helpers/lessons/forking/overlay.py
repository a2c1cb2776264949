"""`on_overlay`: measure a function on an overlay file system, which is what a container has for its
files.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...measure import Recording
from ...measure.environment import OWN_MOUNTS, measured_in

MOUNT = r"""
mount -t tmpfs none "$0" && mkdir "$0/lower" "$0/upper" "$0/work" "$0/merged" &&
cp "$1" "$0/lower/" && shift &&
mount -t overlay -o "lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work,userxattr" \
  none "$0/merged" && exec "$@"
"""
# Not "overlay on tmpfs": a run that is there by mistake has no disk to show, and `recorded` then
# shows another run.
LAYERS = "an overlay of layers in memory"


def on_overlay(function: Callable, below: Path, *args: Any) -> Recording:
    """`measure(function, folder, *args)`, where `folder` holds the three folders of an overlay, all
    in memory: lower, with a copy of the file `below`, as the image of a container has it; upper,
    empty, which takes what is written; and merged, what a program sees: both, the upper over the
    lower.

    Only the measured process sees the overlay, which goes when the process ends. It needs no root,
    but Linux 5.11. NotMeasuredHere where it can't be made, FileNotFoundError if there's no such
    file.
    """
    below = Path(below).resolve(strict=True)
    with tempfile.TemporaryDirectory(prefix="overlay-") as folder:
        command = (*OWN_MOUNTS, MOUNT, folder, str(below))
        return measured_in(
            command, function, Path(folder), *args, name="overlay", file_system=LAYERS
        )
