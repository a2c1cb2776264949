"""What a measured run looks like: the cases whose error message it has."""

import re

from ..measure import Recording
from .files import Case, book

MOST = 6


def looks_like(run: Recording) -> list[Case]:
    """At most six cases, those with the longest message first; mostly none, and none while a case
    is malformed: the run is shown all the same, and `cases()` says what is wrong.
    """
    try:
        found = {case: said for case in book() if (said := says(case, run))}
    except (OSError, ValueError):
        return []
    return sorted(found, key=found.get, reverse=True)[:MOST]


def says(case: Case, run: Recording) -> int:
    """How long is the message of this case that it ended with? 0 for none. "…" in a message stands
    for anything.
    """
    ended = run.ending if run.ended == "raised" else run.ended
    patterns = {message: ".*".join(map(re.escape, message.split("…"))) for message in case.says}
    found = [len(message) for message, pattern in patterns.items() if re.search(pattern, ended)]
    return max(found, default=0) if run.ended != "returned" else 0
