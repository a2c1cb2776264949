"""What this room says, twice: as HTML for a notebook and a page, and as text for a terminal."""

import re
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Said:
    """Something to display."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def inline(text: str) -> str:
    """One line as HTML: `code` and **strong**, everything else literally."""
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", text)
    return "".join(
        f"<code>{escape(part[1:-1])}</code>"
        if part.startswith("`") and len(part) > 2
        else f"<strong>{escape(part[2:-2])}</strong>"
        if part.startswith("**") and len(part) > 4
        else escape(part)
        for part in parts
    )


def paragraphs(text: str) -> str:
    """Paragraphs as HTML, parted by blank lines. One that is indented throughout is code; one of "- " lines a list."""
    return "".join(map(_paragraph, re.split(r"\n\s*\n", text.strip("\n"))))


def plain(text: str) -> str:
    """The same for a terminal: as written, but for the signs of code and strong."""
    return re.sub(r"`([^`]+)`|\*\*([^*]+)\*\*", lambda found: found[1] or found[2], text)


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if all(line.startswith("    ") for line in lines):
        return code("\n".join(line[4:] for line in lines))
    if all(line.startswith("- ") for line in lines):
        return f"<ul>{''.join(f'<li>{inline(line[2:])}</li>' for line in lines)}</ul>"
    return f"<p>{inline(' '.join(lines))}</p>"


def code(source: str) -> str:
    """Source text as HTML; in reach of the keyboard, because it may scroll."""
    return f'<pre tabindex="0"><code>{escape(source)}</code></pre>'
