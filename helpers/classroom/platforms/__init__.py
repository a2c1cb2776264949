"""The systems that a class may come from, each with two functions: `read(names)` says whose the
files and folders of these names are, and `write(…)` puts grades into the form that it imports. What
it calls a student is read once, kept with the hand-in, and written back.
"""

from collections.abc import Collection
from typing import NamedTuple


class Owner(NamedTuple):
    """Whose a file or a folder is, by its name."""

    system: str  # "moodle", "canvas", "nbgrader" or "plain"
    name: str
    place: str  # what the system, or the teacher, put into the name; the student chose what follows
    number: str = ""  # the student's in that system, if it gives any
    late: bool = False  # if the system says so
    file: str = ""  # as the student named it


def read(names: Collection[str]) -> dict[str, Owner]:
    """The owners of what lies in a folder of the class, where a folder's name ends with "/". If it
    may be several systems', the name that ends first is the system's.
    """
    from . import canvas, moodle, plain

    owners: dict[str, Owner] = {}
    for system in (moodle, canvas, plain):
        for name, owner in system.read(names).items():
            if name not in owners or len(owner.place) < len(owners[name].place):
                owners[name] = owner
    return owners
