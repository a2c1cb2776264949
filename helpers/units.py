"""Sizes, counts and times: plain numbers inside, text at the edge."""

import operator
import re
from collections.abc import Callable

KiB, MiB, GiB = 2**10, 2**20, 2**30
NOT_MEASURED = "not measured here"

_UNITS = {"": 1, "B": 1, "KIB": KiB, "MIB": MiB, "GIB": GiB}


def size(text: int | str) -> int:
    """A size as people write it, in bytes: `size("256 MiB")` is 268435456; an int already is bytes.

    ValueError or TypeError for anything else. Decimal units (MB) are refused: pages aren't counted in them.
    """
    if isinstance(text, str):
        found = re.fullmatch(r"\s*(\d[\d_]*(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
        if not found or found[2].upper() not in _UNITS:
            raise ValueError(f"{text!r} isn't a size; write a number of bytes, or '256 MiB' (B, KiB, MiB or GiB)")
        number, unit = float(found[1]), found[2].upper()
    elif isinstance(text, bool) or not hasattr(text, "__index__"):
        raise TypeError(f"{text!r} isn't a size; write a whole number of bytes, or '256 MiB'")
    else:
        number, unit = operator.index(text), ""
    if number < 0:
        raise ValueError(f"a size can't be negative: {text!r}; write 0 or more")
    return int(number * _UNITS[unit])


def in_words(value: float | None, unit: str) -> str:
    """`in_words(268435456, "bytes")` is "256 MiB". Units: "bytes", "count", "seconds". None means not measured."""
    if value is None:
        return NOT_MEASURED
    if unit == "bytes":
        for factor, name in ((GiB, "GiB"), (MiB, "MiB"), (KiB, "KiB")):
            if abs(value) >= 0.9995 * factor:
                scaled = value / factor
                return f"{scaled:.3g} {name}" if abs(scaled) < 1000 else f"{scaled:,.0f} {name}"
        return f"{value:.0f} B"
    if unit == "seconds":
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value:,.0f}"


def in_unit(number: float, unit: str, digits: Callable[[float], str]) -> str:
    """`in_unit(256, "MiB", str)` is "256 MiB"; below 1, a size is in a smaller unit: 0.25 MiB is "256 KiB"."""
    factor = _UNITS.get(unit.upper(), 1)
    return in_words(number * factor, "bytes") if 0 < number < 1 < factor else f"{digits(number)} {unit}".strip()
