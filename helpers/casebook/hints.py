"""What a measured run looks like: the cases whose error message it has, or whose code and costs."""

import re

from ..measure import Recording
from ..units import MiB
from .files import Case, book

MOST = 6


def looks_like(run: Recording, text: str = "") -> list[Case]:
    """At most six cases, those with the longest message first; mostly none, and none while a case
    is malformed: the run is shown all the same, and `cases()` says what is wrong. `text`: the code
    that was run.
    """
    try:
        found = {
            case: said for case in book() if (said := says(case, run) or shows(case, run, text))
        }
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


def shows(case: Case, run: Recording, text: str) -> bool:
    """Is this the code of the case, and did it cost what the case costs? Both, or it isn't said:
    many programs have such code and do no harm.
    """
    if not case.looks or run.anonymous is None or not re.search(case.looks["text"], text):
        return False
    costs = {
        "MiB": MiB,
        "peak": run.peak.anonymous,
        "left": run.left.get("anonymous", 0),
        "calls": run.io.read_calls or 0,
        "reads": run.io.read_bytes or 0,
        "writes": run.io.write_bytes or 0,
    }
    return bool(eval(case.looks["costs"], costs))
