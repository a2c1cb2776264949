"""`python -m helpers.publish.site URL` puts what students read into build/site/, for any web
server: their pages, the book, and their edition of the lessons with its SHA-256. It copies what
`make handouts`, `make class` and `make book` have written, and reads no other edition's folder.
"""

import re
import sys
from html import escape
from pathlib import Path
from urllib.parse import quote

from ..edition import edition
from ..folders import BUILD
from ..safe_files import write_folder
from ..units import in_words
from .lesson import HandoutError, filled

PLACE = "<!-- downloads: `make site` puts them here -->"  # in the index
ADDRESS = re.compile(r"https?://[\w.-]+(:\d+)?(/[^\s?#]*)?")


def site(url: str = "", build: Path = BUILD) -> str:
    """Replaces `build`/site, and says in a line what is in it. With `url`, the address that it will
    have, there is a sitemap.xml, and each page names its own address. HandoutError if what it
    copies isn't there, ValueError for a wrong url.
    """
    if url and not ADDRESS.fullmatch(url):
        raise ValueError(
            f"URL={url} isn't the address of a site. One looks like this: https://example.org/zero-copy/"
        )
    kinds = ("handouts/student/*.html", "class/*.zip*", "book/*.pdf")
    pages, editions, books = (
        {path.name: path.read_bytes() for path in sorted(build.glob(kind))} for kind in kinds
    )
    for target, found in (("handouts", pages), ("class", editions)):
        if not found:
            raise HandoutError(
                f"`make {target}` has written nothing into {build} yet: run it first."
            )
    sums = {
        name: data.split()[0].decode()
        for name, data in editions.items()
        if name.endswith(".sha256")
    }
    sizes = {name: in_words(len(data), "bytes") for name, data in (editions | books).items()}
    told = filled("downloads.html.j2", sums=sums, books=books, sizes=sizes)
    pages["index.html"] = pages["index.html"].replace(PLACE.encode(), told.encode())
    files = pages | editions | books
    if url:
        addresses = {
            name: f"{url.rstrip('/')}/{quote(name if name != 'index.html' else '')}"
            for name in pages
        }
        for name, address in addresses.items():
            link = f'</title>\n<link rel="canonical" href="{escape(address)}">'
            files[name] = files[name].replace(b"</title>", link.encode(), 1)
        files["sitemap.xml"] = filled(
            "sitemap.xml.j2", addresses=addresses.values(), day=edition().day
        ).encode()
    write_folder(build / "site", files)
    size = in_words(sum(map(len, files.values())), "bytes")
    return f"{build / 'site'}: {len(pages)} pages, {', '.join([*editions, *books])}; {size}"


if __name__ == "__main__":
    try:
        print(site(*sys.argv[1:]))
    except (HandoutError, ValueError, OSError) as error:
        sys.exit(f"The site was not written. {error}")
