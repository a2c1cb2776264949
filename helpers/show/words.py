"""What pictures and their alternative texts say in the same words."""

from collections.abc import Mapping
from dataclasses import replace

from ..measure.recording import Comparison, Recording
from .figure import KINDS, UNKNOWN


def by_name(recordings: Comparison | Mapping[str, Recording] | Recording) -> dict[str, Recording]:
    """Recordings by method; a single recording goes by its own name. ValueError if there's nothing to show."""
    if isinstance(recordings, Recording):
        return {recordings.name: recordings}
    if not recordings:
        raise ValueError("nothing to show: the comparison holds no recording")
    return dict(recordings)


def checked(predicted: Mapping[str, float | None] | None, methods: Mapping[str, Recording]) -> dict[str, float]:
    """The predictions that were made; ValueError for an unknown method, or a number below 0."""
    made = {name: value for name, value in (predicted or {}).items() if value is not None}
    for name, value in made.items():
        if name not in methods:
            raise ValueError(f"a prediction for {name!r}, but the methods are: {', '.join(methods)}")
        if not 0 <= value < float("inf"):
            raise ValueError(f"the prediction for {name!r} is {value}; it should be a number from 0 up")
    return made


def peaks(recording: Recording) -> list[tuple[int, str]]:
    """Each measured kind's peak in bytes, and its name; shared memory only if there was any."""
    if recording.anonymous is None:
        return [(recording.peak.resident or 0, f"resident ({UNKNOWN.word})")]
    found = [(getattr(recording.peak, key), key, kind.word) for key, kind in KINDS.items()]
    return [(value, word) for value, key, word in found if value or (value == 0 and key != "shared")]


def ended(recording: Recording) -> str:
    """How a run ended: "ended by SIGBUS", "stopped at the memory limit"; "" if it returned."""
    if recording.ended.startswith("SIG"):
        return f"ended by {recording.ended}"
    return {"returned": "", "memory limit": "stopped at the memory limit"}.get(recording.ended, recording.ended)


def with_machine(caption: str, methods: Mapping[str, Recording]) -> str:
    """The caption, with the machine that the numbers come from. If only its read-ahead differs, that isn't said."""
    machines = dict.fromkeys(recording.machine for recording in methods.values())
    if len(alike := {replace(machine, read_ahead=None) for machine in machines}) == 1 < len(machines):
        machines = alike
    return f"{caption} Measured on {' · '.join(map(str, machines))}.".strip()
