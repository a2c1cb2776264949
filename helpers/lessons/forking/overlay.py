"""`on_overlay`: measure a function on an overlay file system, which is what a container has for its files."""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...measure.machine import NotMeasuredHere
from ...measure.recording import Recording
from ...measure.run import How, measured, why_no_start

MOUNT = """
mount -t tmpfs none "$0" && mkdir "$0/lower" "$0/upper" "$0/work" "$0/merged" && cp "$1" "$0/lower/" && shift &&
mount -t overlay -o "lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work,userxattr" none "$0/merged" && exec "$@"
"""


def on_overlay(function: Callable, below: Path, *args: Any) -> Recording:
    """`measure(function, folder, *args)`, where `folder` holds the three folders of an overlay, all in memory:

    lower   holds a copy of the file `below`, as the image of a container does
    upper   empty; takes what is written
    merged  what a program sees: both, the upper over the lower

    unshare(1) and mount(8) put the overlay in a user and mount namespace of the measured process, without root
    (Linux 5.11); it goes when the process ends. NotMeasuredHere where that can't be done, FileNotFoundError if there's
    no such file.
    """
    below = Path(below).resolve(strict=True)
    with tempfile.TemporaryDirectory(prefix="overlay-") as folder:
        command = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, folder, str(below))
        why = "needs Linux namespaces" if sys.platform != "linux" else why_no_start(command)
        if why:
            raise NotMeasuredHere(f"no overlay can be made here: {why}")
        run = measured(function, (Path(folder), *args), How(command=command))
    # Not "overlay on tmpfs": a run that is there by mistake has no disk to show, and `recorded` then shows another run.
    layers = "an overlay of layers in memory"
    return replace(run, machine=replace(run.machine, file_system=layers, read_ahead=None))
