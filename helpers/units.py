"""Sizes, counts and times: plain numbers inside, text at the edge."""

import operator
import re
from decimal import Decimal

KiB = 2**10
MiB = 2**20
GiB = 2**30
NOT_MEASURED = "not measured here"

SIZES = {"B": 1, "KiB": KiB, "MiB": MiB, "GiB": GiB}
_UNITS = {"": 1} | {name.upper(): factor for name, factor in SIZES.items()}


def size(text: int | str) -> int:
    """A size as people write it, in bytes: `size("256 MiB")` is 268435456; an int already is bytes.
    ValueError or TypeError for anything else. Decimal units (MB) are refused: pages aren't counted
    in them.
    """
    if isinstance(text, str):
        match = re.fullmatch(r"\s*(\d[\d_]*(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
        if not match or match[2].upper() not in _UNITS:
            raise ValueError(
                f"{text!r} isn't a size; write a number of bytes, or '256 MiB' (B, KiB, MiB or GiB)"
            )
        number = float(match[1])
        unit = match[2].upper()
    elif isinstance(text, bool) or not hasattr(text, "__index__"):
        raise TypeError(f"{text!r} isn't a size; write a whole number of bytes, or '256 MiB'")
    else:
        number = operator.index(text)
        unit = ""
    if number < 0:
        raise ValueError(f"a size can't be negative: {text!r}; write 0 or more")
    return int(number * _UNITS[unit])


def in_words(value: float | None, unit: str) -> str:
    """`in_words(268435456, "bytes")` is "256 MiB". Units: "bytes", "count", "seconds". None means
    not measured.
    """
    if value is None:
        return NOT_MEASURED
    if unit == "bytes":
        for factor, name in ((GiB, "GiB"), (MiB, "MiB"), (KiB, "KiB")):
            if abs(value) >= 0.9995 * factor:
                return f"{digits(value / factor)} {name}"
        return f"{value:.0f} B"
    if unit == "seconds":
        if 0 < value < 0.001:
            return f"{digits(1e6 * value)} µs"
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value:,.0f}"


def digits(number: float) -> str:
    """Three significant digits, or all before the point: 0.25 · 25.6 · 1,024 · 0.0000123. What is
    a guess and no amount may be 1e+300 or 5e-324.
    """
    if number and not 1e-15 < abs(number) < 1e15:
        return f"{number:.3g}"
    if abs(number) >= 100 or number == round(number):
        return f"{number:,.0f}"
    return f"{Decimal(f'{number:.3g}'):f}"


def in_unit(number: float, unit: str) -> str:
    """A size in the unit that suits it, anything else in its own: in_unit(0.25, "MiB") is "256
    KiB".
    """
    if unit in SIZES:
        return in_words(number * SIZES[unit], "bytes")
    return f"{digits(number)} {unit.removesuffix('s') if number == 1 else unit}".strip()
