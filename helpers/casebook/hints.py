"""What a measured run looks like: the cases whose error message it has, or whose `looks` hold for it."""

import re

from ..measure import Recording
from .files import Case, book

MOST = 5


def looks_like(run: Recording) -> list[Case]:
    """At most five cases; mostly none."""
    return [case for case in book() if says(case, run) or _looks(case, run)][:MOST]


def says(case: Case, run: Recording) -> bool:
    """Did it end with a message of this case? "…" in a message stands for anything."""
    ended = run.ending if run.ended == "raised" else run.ended
    messages = (".*".join(map(re.escape, message.split("…"))) for message in case.says)
    return run.ended != "returned" and any(re.search(message, ended) for message in messages)


def _looks(case: Case, run: Recording) -> bool:
    return bool(case.looks) and run.ended == "returned" and run.anonymous is not None and eval(case.looks, {"run": run})
