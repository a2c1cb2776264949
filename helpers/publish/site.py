"""`python -m helpers.publish.site` puts into build/site/ what students read: their pages, the book, and their edition
of the lessons with its SHA-256. Any web server can serve it.

It copies what `make handouts`, `make class` and `make book` have written, and reads no other edition's folder.
"""

import argparse
import re
import sys
from hashlib import sha256
from html import escape
from pathlib import Path
from urllib.parse import quote

from ..edition import edition
from ..folders import BUILD
from ..units import in_words
from ..whole import write_folder
from .lesson import HandoutError, filled

PLACE = "<!-- downloads: `make site` puts them here -->"  # in the index
ADDRESS = re.compile(r"https?://[\w.-]+(:\d+)?(/[^\s?#]*)?")


def site(build: Path = BUILD, url: str = "") -> str:
    """Replaces `build`/site with the site. Returns a line that says what is in it.

    With `url`, the address that it will have, there is a sitemap.xml too, and each page names its own address. Raises
    HandoutError if what it copies isn't there, ValueError for a url that is none.
    """
    if url and not ADDRESS.fullmatch(url):
        raise ValueError(f"URL={url} isn't the address of a site. One looks like this: https://example.org/zero-copy/")
    pages = {path.name: path.read_bytes() for path in sorted((build / "handouts" / "student").glob("*.html"))}
    archives, books = (sorted((build / folder).glob(kind)) for folder, kind in (("class", "*.zip"), ("book", "*.pdf")))
    for target, found in (("handouts", pages), ("class", archives)):
        if not found:
            raise HandoutError(f"`make {target}` has written nothing into {build} yet: run it first.")
    downloads = {path.name: path.read_bytes() for path in (*archives, *books)}
    sums = {path.name: sha256(downloads[path.name]).hexdigest() for path in archives}
    beside = {f"{name}.sha256": f"{digest}  {name}\n".encode() for name, digest in sums.items()}
    sizes = {name: in_words(len(data), "bytes") for name, data in downloads.items()}
    told = filled("downloads.html.j2", sizes=sizes, sums=sums)
    pages["index.html"] = pages["index.html"].replace(PLACE.encode(), told.encode())
    if url:
        root = f"{url.rstrip('/')}/"
        addresses = {name: root + quote(name if name != "index.html" else "") for name in pages}
        for name, address in addresses.items():
            link = f'</title>\n<link rel="canonical" href="{escape(address)}">'
            pages[name] = pages[name].replace(b"</title>", link.encode(), 1)
        sitemap = filled("sitemap.xml.j2", addresses=addresses.values(), day=edition().day)
        beside["sitemap.xml"] = sitemap.encode()
    files = pages | downloads | beside
    write_folder(build / "site", files)
    total = in_words(sum(map(len, files.values())), "bytes")
    return f"{build / 'site'}: {len(pages)} pages, {', '.join(downloads)}; {total}"


def main() -> None:
    """The command line. Exits with 1 if nothing was written."""
    parser = argparse.ArgumentParser(prog="python -m helpers.publish.site", description="The site, as files.")
    parser.add_argument("--url", default="", help="the address that it will have")
    try:
        print(site(url=parser.parse_args().url))
    except (HandoutError, ValueError, OSError) as error:
        sys.exit(f"The site was not written. {error}")


if __name__ == "__main__":
    main()
