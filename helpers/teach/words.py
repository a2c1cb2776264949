"""What this room says, in two forms: HTML for a notebook or a page, and text for a terminal."""

import os
import re
import sys
import unicodedata
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import indent

import mistune

from ..folders import ROOT

# Letters and marks that show nothing, so that two names look alike. UCD,
# Default_Ignorable_Code_Point; Braille's blank.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # part of how names are spelt
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Said:
    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


class _Inline(mistune.InlineParser):
    """`code` and **strong** only: in text about Python, 2*3*4, __init__, a[i](x) and <pid> are what
    they look like.
    """

    DEFAULT_RULES = ("codespan",)

    def __init__(self) -> None:
        super().__init__()
        self.register("strong", r"\*\*[^*]+\*\*", self._strong)

    def _strong(
        self, inline: mistune.InlineParser, found: re.Match[str], state: mistune.InlineState
    ) -> int:
        state.append_token(
            {"type": "strong", "children": [{"type": "text", "raw": found[0].strip("*")}]}
        )
        return found.end()

    def process_text(
        self, text: str, state: mistune.InlineState, parse_emphasis: bool = False
    ) -> None:
        super().process_text(text, state, parse_emphasis=False)


class _Renderer(mistune.HTMLRenderer):
    def block_code(self, code: str, info: str | None = None) -> str:
        return block(code.removesuffix("\n"))


_markdown = mistune.Markdown(_Renderer(escape=True), inline=_Inline())


def paragraphs(text: str) -> str:
    """Markdown as HTML. HTML in it is shown, not obeyed."""
    return _markdown(text)


def inline(text: str) -> str:
    """A line of Markdown as HTML that may stand within a paragraph."""
    return _markdown.renderer(_markdown.inline(text, {}), mistune.BlockState())


def plain(text: str) -> str:
    """The same for a terminal: as written, without the marks of code and strong."""
    text = re.sub(r"(?ms)^```[^\n]*\n(.*?)\n```$", lambda found: indent(found[1], "    "), text)
    return re.sub(r"`([^`]+)`|\*\*([^*]+)\*\*", lambda found: found[1] or found[2], text)


def block(source: str) -> str:
    """Source text as HTML; the keyboard can reach it, because it may scroll. Its margins are those
    that JupyterLab gives a block in a text.
    """
    how = 'class="code" tabindex="0" style="margin:1.5em 2em"'
    return f"<pre {how}><code>{escape(source)}</code></pre>"


# Sign, ink and ground: the same on a light page and a dark one, and three steps of lightness in
# grey.
BADGES = {
    "right": ("✓", "#fff", "#1d643b"),
    "not yet": ("○", "#1b1b1b", "#f3c364"),
    "wrong": ("✗", "#1b1b1b", "#f3c364"),
}


def badge(outcome: str, words: str) -> str:
    """How an answer came out, as a sign, in words and as a colour."""
    sign, ink, ground = BADGES.get(outcome, ("–", "#1b1b1b", "#dedede"))
    box = "padding:1px 6px;border-radius:3px;white-space:nowrap;print-color-adjust:exact"
    look = f"color:{ink};background-color:{ground};{box}"
    return f'<strong class="zc-badge" style="{look}">{sign} {escape(words)}</strong>'


def short(text: str, most: int = 1000) -> str:
    """At most `most` characters, from the beginning and the end, and none that a screen can't show.
    "…" stands for the folders of this machine, which may be a teacher's.
    """
    home, data = map(os.path.expanduser, ("~", os.environ.get("ZERO_COPY_DATA") or "~"))
    places = {str(ROOT), home, os.path.realpath(data), sys.prefix, sys.base_prefix}
    for place in sorted(
        (place for place in places if len(Path(place).parts) > 1), key=len, reverse=True
    ):
        text = text.replace(place, "…")
    if len(text) > most:
        text = f"{text[: most * 2 // 3]} … {text[-(most // 4) :]}"
    return "".join(
        char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def one_line(text: str, most: int | None = None) -> str:
    """Text for any page, table or terminal: nothing that breaks the line, isn't text, or can't be
    seen (some of that turns the text after it around: UAX #9, "Explicit Directional Formatting")
    but JOINERS; cut to `most` characters.
    """
    text = BLANK.sub("", text)
    instead = {"Cf": "", "Cc": " ", "Zs": " ", "Zl": " ", "Zp": " "}  # by category
    kept = (
        c if c.isprintable() or c in JOINERS else instead.get(unicodedata.category(c), UNKNOWN)
        for c in text
    )
    shown = unicodedata.normalize("NFC", " ".join("".join(kept).split()).strip(JOINERS + " "))
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


def units_kept(text: str) -> str:
    """The text with no line break between a number and its unit: "282 MiB"."""
    return re.sub(
        r"(?<=[0-9]) (?=(?:[KMGT]iB|B|bytes|s|ms|%)(?![\w/]))", "\N{NO-BREAK SPACE}", text
    )
