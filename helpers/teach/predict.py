"""Predictions: what the student expects, asked before measuring, kept, and shown beside what came
out.
"""

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, Literal

import ipywidgets as widgets

from ..units import NOT_MEASURED, SIZES, MiB, digits, in_unit
from ..widgets import INPUTS, Lasting
from . import state, wall_client
from .words import Said, inline, plain

FILE = "predictions"
LATE = (  # by key: [] once the measurement was shown, [value] for a prediction made after that
    "late"
)
AFTERWARDS = "late: made after the measurement was shown"
_BLANK = (
    '<span role="img" aria-label="blank to write on" '
    'style="display:inline-block;min-width:9em;border-bottom:1px solid currentColor">&nbsp;</span>'
)

Value = float | dict[str, float] | str | list[str]
Kind = Literal["number", "numbers", "choice", "order"]
NUMBERS = ("number", "numbers")
NUMBER = re.compile(
    r"((?P<thousands>[1-9][0-9]{0,2}([,"
    r" ][0-9]{3})+(\.[0-9]+)?)|(?P<number>[0-9]+([.,][0-9]+)?|\.[0-9]+))"
    r"\s*(?P<unit>[A-Za-z]*|%)"
)


@dataclass(frozen=True, eq=False)
class Prediction(Lasting):
    """A question and the student's answer so far: ask again, and `value` is the latest answer.
    Shown as inputs where a kernel runs, elsewhere as the question with the answer, or with blanks,
    and in a terminal as text.
    """

    key: str
    question: str
    kind: Kind
    unit: str = ""
    names: tuple[str, ...] = (
        "",
    )  # of the numbers ("" for a single one), the choices, or what to put in order
    most: float | None = None

    @property
    def value(self) -> Value | None:
        """None if there is none yet; a number, {name: number} as far as given, the choice, or the
        names in order.
        """
        return self.checked(after[0] if (after := self._after) else state.read(FILE).get(self.key))

    @property
    def late(self) -> bool:
        """Was it made, or changed, after its measurement was shown? Then the class report leaves it
        out.
        """
        return bool(self._after)

    @property
    def _after(self) -> list | None:
        """What LATE has; None if the measurement wasn't shown."""
        stored = state.read(LATE).get(self.key)
        return stored if isinstance(stored, list) else None

    @property
    def sizes(self) -> dict[str, float]:
        """Bytes by name, "" for a single number, for `curves(…, predicted=guess.sizes)`; {} if none
        was predicted.
        """
        factor = SIZES.get(self.unit)
        return {name: number * factor for name, number in self._numbers.items()} if factor else {}

    @property
    def _numbers(self) -> dict[str, float]:
        return _by_name(self.value)

    def keep(self, value: Value | None) -> None:
        """Answers in code, as the inputs do by hand: `guess.keep(256)`, `guess.keep({"mmap": 0})`;
        None forgets. Raises ValueError for a value that doesn't answer this question.
        """
        late = self._after is not None
        answer = self.checked(value)
        if value is not None and answer is None:
            number = (
                "a number from "
                f"0{' up' if self.most is None else f' to {in_unit(self.most, self.unit)}'}"
            )
            names = ", ".join(self.names)
            wanted = {
                "number": number,
                "numbers": f"{number} for each of {names}",
                "choice": f"one of {names}",
            }
            wanted = wanted.get(self.kind, f"all of {names}, each once, in order")
            raise ValueError(f"{value!r} doesn't answer {self.key!r}; wanted: {wanted}")
        if answer != self.value:
            if late:
                on_disk = state.keep(LATE, self.key, [] if answer is None else [answer])
            if answer is None or not late:
                on_disk = state.keep(FILE, self.key, answer)
            if not on_disk:
                print(
                    "Your folder can't be written to, so the prediction is kept only until this "
                    "kernel ends."
                )
            if not late:
                wall_client.vote(self.key, answer)
        self.renew()

    def beside(
        self, measured: Mapping[str, float | None] | float | str | Sequence[str] | None
    ) -> Said:
        """The prediction beside what was measured, on one line. A measured size is in bytes,
        whatever the unit. From now on, a prediction is late. The line's HTML also carries what was
        measured as data, for the class report.
        """
        if self.kind == "numbers" and not isinstance(measured, Mapping):
            raise TypeError(
                f"{self.key!r} asks for {', '.join(self.names)}: give a dict of what each measured"
            )
        shown = list(measured.values()) if isinstance(measured, Mapping) else [measured]
        text = self.compared(self.value, shown[0] if self.kind == "number" else measured)
        if self._after is None and any(each is not None for each in shown):
            state.keep(LATE, self.key, [])
        wall_client.tell(self.key, self.asked, measured=measured)
        text += f" ({AFTERWARDS.capitalize()}.)" if self.late else ""
        html = re.sub(r"^No prediction yet\.", r'<span class="zc-none">\g<0></span>', escape(text))
        data = (
            f'data-predicted="{escape(self.key)}"'
            f' data-measured="{escape(json.dumps(measured, default=float))}"'
        )
        return Said(text, f'<p class="zc-beside" {data}>{html}</p>')

    def __repr__(self) -> str:
        lines = [plain(self.question)]
        if self.kind in ("choice", "order"):
            lines += [f"  - {name}" for name in self.names]
        return "\n".join([*lines, f"({self.status})"])

    @property
    def status(self) -> str:
        """The line that says what is kept: "kept: 256 MiB"."""
        value = self.value
        sent = wall_client.said(self.key)
        text = "no prediction yet" if value is None else f"kept: {self.told(value)}"
        return f"{text} ({AFTERWARDS})" if self.late else f"{text}; {sent}" if sent else text

    def told(self, value: Value) -> str:
        """An answer in words: "read 256 MiB, mmap 0 MiB", or "1. mmap, 2. read"."""
        if isinstance(value, list):
            return ", ".join(f"{place}. {name}" for place, name in enumerate(value, 1))
        numbers = (
            value if isinstance(value, dict) else {} if isinstance(value, str) else {"": value}
        )
        return ", ".join(
            f"{name} {in_unit(n, self.unit)}".strip() for name, n in numbers.items()
        ) or str(value)

    @property
    def asked(self) -> dict[str, Any]:
        """The question as plain data, from which `Prediction(key, **asked)` is made again."""
        return {name: getattr(self, name) for name in ("question", "kind", "unit", "names", "most")}

    @cached_property
    def widget(self) -> widgets.Widget:
        """Inputs, and a line that says what is kept; made once, so that every display shows the
        same state.
        """
        boxes = _inputs(self)
        line = widgets.HTML()

        def show(text: str = "") -> None:
            line.value = f"<em>{escape(text or self.status)}</em>"

        wall_client.shown(
            self.key, self.asked, None if self._after is not None else self.value, show
        )
        show()

        def changed(_: Any) -> None:
            try:
                self.keep(self.read([box.value for box in boxes]))
                show()
            except ValueError as error:
                show(f"{error} ({self.status})")

        for box in boxes:
            box.observe(changed, "value")
        question = widgets.HTML(f"{INPUTS}<strong>Predict.</strong> {inline(self.question)}")
        all_of_it = widgets.VBox([question, *boxes, line])
        all_of_it.add_class("zc-inputs")
        return all_of_it

    def _repr_html_(self) -> str:
        value = self.value
        numbers = self._numbers
        if self.kind in NUMBERS:
            shown = dict.fromkeys(self.names, f"{_BLANK} {escape(self.unit)}".rstrip())
            shown |= {
                name: f"<strong>{escape(in_unit(numbers[name], self.unit))}</strong>"
                for name in numbers
            }
            below = "".join(
                f"<p>{f'{inline(name)}: ' if name else ''}{text}</p>"
                for name, text in shown.items()
            )
        elif self.kind == "choice":
            items = "".join(
                f"<li>{'☑' if name == value else '☐'} {inline(name)}</li>" for name in self.names
            )
            below = f'<ul style="list-style:none;padding-left:0">{items}</ul>'
        else:
            places = "".join(
                f"<li>{inline(name) if name else _BLANK}</li>"
                for name in value or [""] * len(self.names)
            )
            below = f"<p>{inline(', '.join(self.names))}</p><ol>{places}</ol>"
        below += f"<p><em>{AFTERWARDS}</em></p>" if self.late else ""
        data = f'data-predict="{escape(self.key)}" data-asked="{escape(json.dumps(self.asked))}"'
        return (
            f'<div class="zc-predict" {data}><p><strong>Predict.</strong>'
            f" {inline(self.question)}</p>{below}</div>"
        )

    def checked(self, value: Any) -> Value | None:
        """`value` if it answers this question, else None: it may come from an older lesson, or an
        edited file.
        """
        if self.kind in NUMBERS:
            given = value if isinstance(value, dict) else {"": value}
            fit = {
                name: float(given[name]) for name in self.names if self._is_number(given.get(name))
            }
            return fit.get("") if self.kind == "number" else fit or None
        if self.kind == "choice":
            return value if value in self.names else None
        is_order = isinstance(value, list | tuple) and sorted(map(str, value)) == sorted(self.names)
        return list(map(str, value)) if is_order else None

    def read(self, typed: Sequence[str | None]) -> Value | None:
        """What the inputs say, None for nothing; ValueError if they don't say enough."""
        if self.kind == "choice":
            return typed[0]
        if self.kind == "order":
            if left := [name for name in self.names if name not in typed]:
                raise ValueError(f"still to place: {', '.join(left)}")
            return list(typed)
        numbers = zip(self.names, (amount(text, self.unit) for text in typed), strict=True)
        given = {name: number for name, number in numbers if number is not None}
        return given.get("") if self.kind == "number" else given or None

    def _is_number(self, value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and 0 <= value <= (sys.float_info.max if self.most is None else self.most)

    def _measured(self, number: float | None) -> str:
        return (
            NOT_MEASURED if number is None else in_unit(number / SIZES.get(self.unit, 1), self.unit)
        )

    def _number_beside(self, name: str, guess: float | None, measured: float | None) -> str:
        of = f" for {name}" if name else ""
        if guess is None:
            return f"No prediction yet{of}. Measured: {self._measured(measured)}."
        apart = "" if measured is None else self._apart(guess, measured)
        came = f"{'it is' if measured is None else 'measured'} {self._measured(measured)}{apart}"
        return f"You predicted {in_unit(guess, self.unit)}{of}; {came}."

    def compared(self, guess: Value | None, measured: Any) -> str:
        """A guess beside what was measured, on one line. A measured size is in bytes, whatever the
        unit.
        """
        result = f"{measured}"
        if self.kind in NUMBERS:
            by_name = measured if self.kind == "numbers" else {"": measured}
            guesses = _by_name(guess)
            numbers = {name: by_name[name] for name in self.names if name in by_name}
            if guesses:
                return " ".join(
                    self._number_beside(name, guesses.get(name), numbers[name]) for name in numbers
                )
            result = ", ".join(
                f"{name} {self._measured(number)}".strip() for name, number in numbers.items()
            )
        elif self.kind == "order":
            result = ", ".join(measured)
        if guess is None:
            return f"No prediction yet. Measured: {result}."
        if self.kind == "choice":
            before = (
                "As you predicted" if guess == measured else f"You predicted “{guess}”; measured"
            )
            return f"{before}: {result}."
        same = sum(a == b for a, b in zip(guess, measured, strict=False))
        if same == len(measured):
            return f"Just as you predicted: {result}."
        places = "none is" if same == 0 else "1 is" if same == 1 else f"{same} are"
        return f"You predicted {', '.join(guess)}; measured {result}: {places} where you put it."

    def _apart(self, guess: float, measured: float) -> str:
        """How far off the guess was, if that says anything."""
        measured /= SIZES.get(self.unit, 1)
        if near(guess, measured, self.unit):
            return " – well predicted"
        low, high = sorted((guess, measured))
        if low <= _noise(self.unit) or math.isinf(factor := high / low):
            return ""
        if factor < 1.3:
            return " – close"
        much = (
            "many" if self.unit.endswith("s") or self.unit.startswith("of ") else "much"
        )  # of things, or of bytes
        times = f"{digits(factor) if factor >= 10 else f'{factor:.2g}'} times as {much}"
        return f" – {times}" if guess < measured else f" – you expected {times}"


def predict(
    key: str,
    question: str,
    *,
    unit: str = "MiB",
    each: Sequence[str] | None = None,
    choices: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    most: float | None = None,
) -> Prediction:
    """Asks for a prediction, which is kept in the student's own folder; end a cell with it.

    predict("02.peak", "How much …?", unit="MiB")              a number (`unit=""` for none), at
    most `most` predict("02.peaks", "How much …?", each=["read", "mmap"])  a number for each name
    predict("02.why", "Which …?", choices=["…", "…"])          one of several predict("02.fast",
    "Which is first?", order=["a", "b"])    all of them, in order
    """
    kinds: dict[Kind, Sequence[str] | None] = {"numbers": each, "choice": choices, "order": order}
    given = {kind: tuple(names) for kind, names in kinds.items() if names is not None}
    if len(given) > 1:
        raise ValueError(
            f"predict {key!r} takes only one of each=, choices= and order=, not {len(given)}"
        )
    kind, names = next(iter(given.items()), ("number", ("",)))
    if len(set(names)) < len(names) or len(names) < (1 if kind in NUMBERS else 2):
        raise ValueError(
            f"predict {key!r} needs names that differ, at least two of them, not {list(names)}"
        )
    return Prediction(key, question, kind, unit if kind in NUMBERS else "", names, most)


def _inputs(prediction: Prediction) -> list[widgets.Widget]:
    """Text inputs for numbers, empty at first: a number input begins at 0, so 0 couldn't be
    predicted.
    """
    value = prediction.value
    names = prediction.names
    style = {"description_width": "initial"}
    if prediction.kind == "choice":
        return [
            widgets.RadioButtons(
                options=names, value=value, description="Your prediction", style=style
            )
        ]
    if prediction.kind == "order":
        options = [("choose", None), *((name, name) for name in names)]
        places = enumerate(value or [None] * len(names), 1)
        return [
            widgets.Dropdown(options=options, value=at, description=f"Place {i}", style=style)
            for i, at in places
        ]
    given = {name: f"{number:.12g}" for name, number in prediction._numbers.items()}
    of = {
        name: ", ".join(filter(None, (name or "Your prediction", prediction.unit)))
        for name in names
    }
    return [
        widgets.Text(given.get(x, ""), description=of[x], continuous_update=False, style=style)
        for x in names
    ]


def _by_name(value: Value | None) -> dict[str, float]:
    return (
        value if isinstance(value, dict) else {"": value} if isinstance(value, int | float) else {}
    )


def near(guess: float, measured: float, unit: str) -> bool:
    """Both in `unit`: do they differ by no more than a tenth or, for sizes, half a MiB?"""
    return abs(guess - measured) <= max(0.1 * measured, _noise(unit))


def _noise(unit: str) -> float:
    """Half a MiB, if the unit is one of sizes."""
    return MiB / 2 / SIZES[unit] if unit in SIZES else 0.0


def amount(text: str, unit: str) -> float | None:
    """What was typed, in `unit`: "256", "1,024", "0.5", "0,5", "0.5 GiB" where the unit is a size;
    None for nothing. A comma before three digits stands between thousands, unless there is only a 0
    before it. ValueError for what is no number.
    """
    if not text.strip():
        return None
    parts = NUMBER.fullmatch(text.strip())
    units = (
        {name.lower(): factor for name, factor in SIZES.items()}
        if unit in SIZES
        else {unit.lower(): 1}
    )
    written = (parts["unit"] or unit).lower() if parts else None
    if written not in units:
        also = (
            ", or 512 KiB (1 MiB is 1,048,576 bytes, and 1 MB a million)" if unit in SIZES else ""
        )
        raise ValueError(
            f"“{text}” is not a number{f' of {unit}' if unit else ''}; write 0.5, 256 or "
            f"1,024{also}"
        )
    number = (
        re.sub("[, ]", "", parts["thousands"])
        if parts["thousands"]
        else parts["number"].replace(",", ".")
    )
    return float(number) * units[written] / units[unit.lower()]
