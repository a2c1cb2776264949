"""`python -m helpers.publish.book` makes the book: all that students read in one PDF, with contents
and an outline. Chromium prints it twice: the numbers in the contents are known once the book has
been printed.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from bs4 import BeautifulSoup

from ..edition import edition
from ..folders import BUILD, write_whole
from ..safe_files import temporary_folder
from ..widgets import progress_bar
from .__main__ import main as write_handouts
from .handouts import APPENDICES
from .lesson import HandoutError, filled

BOOK = BUILD / "book" / "zero_copy_measured.pdf"
NO_BROWSER = "The book needs Chromium, which isn't installed; on Debian: apt-get install chromium"
# The sandbox, which doesn't work in a container, is for pages of others.
OPTIONS = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run"
OPTIONS += " --no-pdf-header-footer"
LIMIT = 600  # seconds to print
# Then come pages of other names.
AFTER_LESSONS = (
    *reversed(APPENDICES.values()),
    "casebook.html",
    "does_it_copy.html",
    "claims.html",
    "glossary.html",
)
LEFT_OUT = {"index.html", "search.html"}  # the contents take their place
ON_SCREEN = "nav, script, button, template, [hidden]"
# attributes that hold ids
IDS = {"id", "aria-labelledby", "aria-describedby", "aria-controls", "headers", "for"}


def chromium() -> str | None:
    """The path of the program, by one of the names that it goes by; None: it isn't installed."""
    return next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


@dataclass(frozen=True)
class Chapter:
    """`name` is its anchor, and `sections` are the anchors and the texts of its headings; `html` is
    its text.
    """

    name: str
    title: str
    sections: tuple[tuple[str, str], ...]
    html: str


def chapters(folder: Path) -> list[Chapter]:
    """The pages in this folder, lessons first. Each id begins with its page's name, and links lead
    to these ids.
    """
    names = {path.name for path in folder.glob("*.html")} - LEFT_OUT
    first = dict.fromkeys(
        [*sorted(name for name in names if name[0].isdigit()), *AFTER_LESSONS, *sorted(names)]
    )
    order = [name for name in first if name in names]
    return [
        _chapter(folder / name, names)
        for name in progress_bar(order, desc="reading the pages", unit="page")
    ]


def _chapter(page: Path, names: Collection[str]) -> Chapter:
    main = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").main
    for tag in main.select(ON_SCREEN):
        tag.decompose()
    for number, heading in enumerate(headings := main.find_all("h2"), 1):
        heading["id"] = heading.get("id") or f"heading-{number}"
    for tag in main.find_all(True):
        for name in IDS & tag.attrs.keys():
            tag[name] = " ".join(f"{page.stem}--{one}" for one in tag[name].split())
    for link in main.find_all("a", href=re.compile(r"^(?![a-z]+:)")):
        target, mark, anchor = link["href"].partition("#")
        to = (target or page.name).removesuffix(".html") + mark.replace("#", "--") + anchor
        link["href"] = f"#{to}" if target in ("", *names) else "#contents"
    title = (
        f"{page.name[:2]} {main.h1.get_text()}" if page.name[0].isdigit() else main.h1.get_text()
    )
    sections = tuple((heading["id"], " ".join(heading.get_text().split())) for heading in headings)
    return Chapter(page.stem, title, sections, main.decode_contents())


def book(folder: Path, into: Path = BOOK, *, browser: str) -> int:
    """Prints the pages in `folder` as one PDF, written whole or not at all; how many pages it has.
    HandoutError.
    """
    made = chapters(folder)
    places = {}
    into.parent.mkdir(parents=True, exist_ok=True)
    for _ in progress_bar(range(2), desc="printing", unit="time"):
        html = filled("book.html.j2", chapters=made, places=places, released=str(edition()))
        pdf = printed(html, into.parent, browser)
        before, (places, count) = places, read_places(pdf)
    if places != before:
        raise HandoutError(
            "the contents have become longer by the numbers in them; give .page in book.css more "
            "room"
        )
    write_whole(into, outlined(pdf, made))
    return count


def printed(html: str, folder: Path, browser: str) -> bytes:
    """This page as a PDF. Its files are in `folder` meanwhile, among them the browser's own
    settings: with the user's, it'd hand the page to a browser that's open.
    """
    with temporary_folder(folder, ".printing") as room:
        page = room / "book.html"
        pdf = room / "book.pdf"
        page.write_text(html, encoding="utf-8")
        own = (f"--user-data-dir={room / 'settings'}", f"--print-to-pdf={pdf}", page.as_uri())
        try:
            done = subprocess.run(
                [browser, *OPTIONS.split(), *own], capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            raise HandoutError(
                f"{browser} has printed for {LIMIT} seconds and isn't done"
            ) from None
        if done.returncode or not pdf.exists():
            *_, said = ["nothing", *done.stderr.strip().splitlines()]
            raise HandoutError(f"{browser} printed nothing; it says: {said}")
        return pdf.read_bytes()


def outlined(pdf: bytes, made: Iterable[Chapter]) -> bytes:
    """The PDF with an outline of its chapters and their sections."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import Fit

    writer = PdfWriter(clone_from=BytesIO(pdf))
    reader = PdfReader(BytesIO(pdf))
    found = reader.named_destinations

    def entry(anchor: str, text: str, above: object = None) -> object:
        place = found["/" + anchor]
        number = reader.get_destination_page_number(place)
        return writer.add_outline_item(
            title=text, page_number=number, parent=above, fit=Fit.xyz(top=place.top)
        )

    writer.add_outline_item(title="Contents", page_number=1)  # after the cover
    for chapter in made:
        parent = entry(chapter.name, chapter.title)
        for anchor, heading in chapter.sections:
            entry(anchor, heading, parent)
    whole = BytesIO()
    writer.write(whole)
    return whole.getvalue()


def read_places(pdf: bytes) -> tuple[Mapping[str, int], int]:
    """The number of the page where each anchor is, and how many pages there are."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(pdf))
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(reader.pages, 1)}
    found = {
        name.lstrip("/"): numbers[place.page.idnum]
        for name, place in reader.named_destinations.items()
    }
    return found, len(numbers)


def main() -> None:
    if not (browser := chromium()):
        sys.exit(NO_BROWSER)
    write_handouts()
    try:
        count = book(BUILD / "handouts" / "student", browser=browser)
    except HandoutError as error:
        sys.exit(f"The book was not written.\n{error}")
    print(f"The book has {count} pages, {BOOK.stat().st_size / 1e6:.1f} MB:\n  {BOOK}")


if __name__ == "__main__":
    main()
