"""Names and texts from students and their systems, made safe for one line, a table's cell, or a file's name."""

import re
import unicodedata
from hashlib import sha256

# Unicode's embeddings, overrides and isolates reverse the text after them: UAX #9, "Explicit Directional Formatting".
TURNS_AROUND = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
FORMULA = re.compile(r"(^|;)(\s*)(?=[=+\-@＝＋－＠])")


def one_line(text: str) -> str:
    """The text without line breaks, control characters, surrogates, or characters that reverse the text after them."""
    text = text.encode("utf-8", "replace").decode()
    visible = "".join(" " if char.isspace() or unicodedata.category(char) == "Cc" else char for char in text)
    return " ".join(visible.translate(dict.fromkeys(map(ord, TURNS_AROUND))).split())


def cell(value: object) -> str:
    """A cell of a CSV file. Puts an apostrophe before whatever a spreadsheet would take for a formula, to make it text.

    OWASP, "CSV Injection"; CWE-1236. After a semicolon too, because Excel starts a new cell there in some countries.
    """
    return FORMULA.sub(r"\1\2'", one_line(str(value)))


def number(value: float) -> str:
    """Points: "10", "7.5"."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def file_name(name: str, key: str) -> str:
    """A name for a student's file, of letters, digits and hyphens: at most 40 characters from the student's name, and 8
    that tell apart students of the same name."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    short = re.sub(r"[^a-z0-9]+", "-", letters)[:40].strip("-") or "student"
    return f"{short}-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
