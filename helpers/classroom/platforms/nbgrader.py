"""A course of nbgrader's: `submitted/ada/copying/02_copy_a_big_file.ipynb` (user guide,
"Philosophy"), with the time in `timestamp.txt` ("Late submission plugin").
"""

import time
from collections.abc import Collection
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from . import Owner

SUBMITTED, TIMESTAMP = "submitted", "timestamp.txt"
FOLDERS = {
    "source",
    "source_with_tests",
    "release",
    SUBMITTED,
    "autograded",
    "feedback",
    "solution",
}


def read(names: Collection[str]) -> dict[str, Owner]:
    """Of what lies in submitted/."""
    folders = {name: name[:-1] for name in names if name.endswith("/")}
    return {name: Owner("nbgrader", student, student) for name, student in folders.items()}


def moment(timestamp: str) -> datetime:
    """ "2015-02-02 14:58:23.948203 America/Los_Angeles", "… UTC" or "… +0100", or ISO 8601: in UTC
    unless it names a zone (nbgrader.utils.parse_utc). ValueError, LookupError or
    OverflowError if it's none.
    """
    words = timestamp.split()
    zone = words.pop() if len(words) > 2 and words[-1][0] not in "+-" else None
    found = datetime.fromisoformat(" ".join(words[:2]) + "".join(words[2:]))
    if zone in time.tzname:
        found = found.astimezone()
    elif not found.tzinfo:
        found = found.replace(tzinfo=ZoneInfo(zone) if zone else UTC)
    found.astimezone(UTC)  # OverflowError if there is no such moment
    return found
