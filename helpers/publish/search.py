"""The search page of an edition: what its other pages say, cut at headings, claims and terms, for
search.js to rank. The browser builds the index once a visit, in 0.2 s (387 sections, Chromium).
Reading an index that was built beforehand takes 0.02 s, but the page would grow from 750 to 1,210
KB, and it would take Node to make it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bs4 import BeautifulSoup

from ..widgets import progress_bar

SERIES = " · Zero copy, measured"  # after each page's title
_STARTS = "h1, h2, h3:not(article h3), article[id], .glossary > [id]"
_BLOCKS = "p, li, dt, dd, tr, pre, div, h4, figcaption, summary, caption, blockquote, section"
# What nobody looks for: the machine that measured, imports; what would tell a quiz's answer; of the
# index, what its pages say better.
_LEFT_OUT = (
    "style, script, figcaption, nav, .folded, .answers, .zc-click, .minutes, [aria-hidden=true], "
    ".lessons, [aria-labelledby=news], summary small, .messages"
)
_CALL = re.compile(r"(display\()?(exercise|quiz)\(")  # what these show stands below them
_ANSWERS = ".zc-choice > :not(summary), .feedback"


class Entry(NamedTuple):
    anchor: str  # "" at the top of a page
    title: str
    text: str  # a line for each paragraph, item, row, and line of code


def search_page(pages: Mapping[str, str], edition: str) -> dict[str, Any]:
    """What search.html.j2 needs to find all that the edition's `pages` say ({"student/rust.html":
    HTML}).
    """
    own = {
        name.partition("/")[2]: html
        for name, html in pages.items()
        if name.startswith(f"{edition}/")
    }
    found = []
    for name, html in progress_bar(own.items(), desc="writing: search", unit="page"):
        tree = BeautifulSoup(html, "html.parser")
        title = tree.title.get_text().removesuffix(SERIES)
        found.append(
            {"page": name, "title": title, "entries": entries(tree, spoils=edition == "instructor")}
        )
    data = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return {
        "title": "Search",
        "found": found,
        "data": data.replace("<", "\\u003c").replace("&", "\\u0026"),
    }


def entries(tree: BeautifulSoup, spoils: bool = False) -> list[Entry]:
    """The sections of a page, which it takes apart; without the answers to the quizzes, unless it
    `spoils` them.
    """
    main = tree.find("main")
    for tag in main.select(_LEFT_OUT if spoils else f"{_LEFT_OUT}, {_ANSWERS}"):
        tag.extract()
    for text in [text for pre in main.find_all("pre") for text in pre.find_all(string=True)]:
        text.replace_with(text.replace("\n", "\1"))
    starts = []
    for tag in main.select(_STARTS):
        title = tag.find(["h3", "dt"]) or tag
        starts.append(
            (tag.get("id") or tag.parent.get("id", ""), " ".join(title.get_text().split()))
        )
        tag.insert_before("\0")
        title.extract()
    for tag in main.select(_BLOCKS):
        tag.insert_before("\1")
    for cell in main.find_all(["td", "th"]):
        cell.insert_before(" ")
    found = []
    for (anchor, title), text in zip(starts, main.get_text().split("\0")[1:], strict=True):
        lines = (" ".join(line.split()) for line in text.split("\1"))
        found.append(
            Entry(
                anchor, title, "\n".join(line for line in lines if line and not _CALL.match(line))
            )
        )
    return [entry for entry in found if entry.text]
