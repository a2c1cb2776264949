"""What students and their systems call things, as plain text: for a line, a cell of a table, the name of a file."""

import re
import unicodedata
from hashlib import sha256

# Unicode's embeddings, overrides and isolates turn what follows them around: UAX #9, "Explicit Directional Formatting".
TURNS_AROUND = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
FORMULA = re.compile(r"(^|;)(\s*)(?=[=+\-@＝＋－＠])")


def one_line(text: str) -> str:
    """Without line breaks, and without characters that nobody sees, no file can hold, or that turn others around."""
    text = text.encode("utf-8", "replace").decode()
    kept = "".join(" " if one.isspace() or unicodedata.category(one) == "Cc" else one for one in text)
    return " ".join(kept.translate(dict.fromkeys(map(ord, TURNS_AROUND))).split())


def cell(value: object) -> str:
    """For a CSV file: what a spreadsheet would take for a formula gets an apostrophe in front, so that it is text.

    OWASP, "CSV Injection"; CWE-1236. After a semicolon too: where that separates cells, Excel begins a new one there.
    """
    return FORMULA.sub(r"\1\2'", one_line(str(value)))


def number(value: float) -> str:
    """Points: "10", "7.5"."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def file_name(name: str, key: str) -> str:
    """A name for a student's file, of letters, digits and hyphens: at most 40 of the name, and 8 that tell apart those
    of the same name."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    short = re.sub(r"[^a-z0-9]+", "-", letters)[:40].strip("-") or "student"
    return f"{short}-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
