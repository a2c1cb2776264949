"""What pictures and their alternative texts say in the same words."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..measure.recording import Recording
from ..units import NOT_MEASURED, digits, in_words
from .figure import KINDS, UNKNOWN

Methods = Mapping[str, Recording]  # such as a Comparison
Predicted = Mapping[str, float | None] | None  # by method; None: no prediction yet


def alt_text(opening: str, rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """An alternative text: what the picture is, then a sentence for each row: "name: part, part.";
    "" is left out, and so is a row without words.
    """
    sentences = [f"{opening}."] if opening else []
    for name, parts in rows:
        if words := ", ".join(filter(None, parts)):
            sentences.append(f"{name}: {words}." if name else f"{words}.")
    return " ".join(sentences)


def amount(value: float | None, unit: str) -> str:
    """`in_words`, for more units: a "share" of 0.25 is "25 %", a "time" of 0.02 s "20 ms"; 31 of
    "ns" are "31 ns".
    """
    if unit == "time" and 0.001 <= (value or 0) < 1:
        return f"{digits(1000 * value)} ms"
    if value is None or unit in ("bytes", "count", "seconds", "time"):
        return in_words(value, "seconds" if unit == "time" else unit)
    if unit == "share":
        return f"{100 * value:.0f} %"
    return f"{digits(value)} {unit}"


def count(number: int | None, noun: str) -> str:
    """ "1 call", "1,024 calls", "calls not measured here"."""
    return (
        f"{noun}s {NOT_MEASURED}"
        if number is None
        else f"{number:,} {noun}{'' if number == 1 else 's'}"
    )


def by_name(recordings: Methods | Recording) -> dict[str, Recording]:
    """Recordings by method; a single recording goes by its own name. ValueError if there's nothing
    to show.
    """
    if isinstance(recordings, Recording):
        return {recordings.name: recordings}
    if not recordings:
        raise ValueError("nothing to show: the comparison holds no recording")
    return dict(recordings)


def checked(predicted: Predicted, methods: Methods) -> dict[str, float]:
    """The predictions without those that are None; ValueError for an unknown method, or a number
    below 0.
    """
    predictions = {name: value for name, value in (predicted or {}).items() if value is not None}
    for name, value in predictions.items():
        if name not in methods:
            raise ValueError(
                f"a prediction for {name!r}, but the methods are: {', '.join(methods)}"
            )
        if not 0 <= value < float("inf"):
            raise ValueError(
                f"the prediction for {name!r} is {value}; it should be a number from 0 up"
            )
    return predictions


def peaks(recording: Recording) -> list[tuple[int, str]]:
    """Each measured kind's peak in bytes, and its name; shared memory only if there was any."""
    if recording.anonymous is None:
        return [(recording.peak.resident or 0, f"resident ({UNKNOWN.word})")]
    of_kinds = [(getattr(recording.peak, key), key, kind.word) for key, kind in KINDS.items()]
    return [
        (value, word) for value, key, word in of_kinds if value or (value == 0 and key != "shared")
    ]


def left_words(recording: Recording) -> str:
    """What stayed of each kind when the call ended; "" if that isn't known."""
    sizes = [
        f"{in_words(size, 'bytes')} {KINDS[key].word}"
        for key, size in recording.left.items()
        if size
    ]
    return f"{', '.join(sizes) or 'nothing'} at the end" if recording.left else ""


def faults(recording: Recording) -> int | None:
    """Minor and major faults together: each lent a page, and perhaps the pages around it."""
    minor = recording.faults.minor
    major = recording.faults.major
    return None if minor is None or major is None else minor + major


def ended(recording: Recording) -> str:
    """How a run ended: "ended by SIGBUS", "stopped at the memory limit"; "" if it returned."""
    if recording.ended.startswith("SIG"):
        return f"ended by {recording.ended}"
    return {"returned": "", "memory limit": "stopped at the memory limit"}.get(
        recording.ended, recording.ended
    )


def with_machine(caption: str, methods: Methods) -> str:
    """The caption, with the machine that the numbers come from. If only its read-ahead differs,
    that isn't said.
    """
    machines = dict.fromkeys(recording.machine for recording in methods.values())
    if (
        len(alike := {replace(machine, read_ahead=None) for machine in machines})
        == 1
        < len(machines)
    ):
        machines = alike
    return f"{caption} Measured on {' · '.join(map(str, machines))}.".strip()
