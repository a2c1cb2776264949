"""A k-mer index, built and opened from its arena, against a dict of the text: `python
benchmarks/bench_arena.py`.
"""

import tempfile
import timeit
from pathlib import Path

import numpy as np

from helpers.ideas.kmers import KmerIndex
from helpers.make import dna
from helpers.measure import advise, drop_from_cache, measure, page_map
from helpers.units import in_words

K = 21
SIZES = ("1 MiB", "4 MiB")
QUERIES = 50


def as_dict(path: Path) -> dict[str, list[int]]:
    text = path.read_text()
    found: dict[str, list[int]] = {}
    for i in range(len(text) - K + 1):
        found.setdefault(text[i : i + K], []).append(i)
    return found


def microseconds(statement: str, **names: object) -> str:
    timer = timeit.Timer(statement, globals=names)
    number, _ = timer.autorange()
    return f"{min(timer.repeat(5, number)) / number * 1e6:.2f} µs"


def pages_touched(text: Path, index_path: Path, words: list[str]) -> str:
    """Pages that a query touches, the median. Each query starts with no page in memory, and without
    readahead.
    """
    touched = []
    with KmerIndex.of(text, K, index_path) as index:
        everything = index.arena.array(index.arena.root).base
        advise(everything, "random")
        for word in words:
            advise(everything, "dontneed")
            drop_from_cache(index_path)
            index.find(word).tolist()
            touched.append(page_map(everything).present)
    return f"{np.median(touched):.0f} of {len(page_map(everything)):,}"


def main(folder: Path) -> None:
    columns = (
        "text",
        "way",
        "ready after",
        "anonymous memory",
        "one query",
        "pages a query touches",
    )
    print("| " + " | ".join(columns) + " |\n|---|---|---:|---:|---:|---:|")
    for size in SIZES:
        text = dna(folder / size.replace(" ", ""), size)
        index_path = text.with_suffix(".arena")
        starts = np.random.default_rng(1).integers(0, text.stat().st_size - K, QUERIES).tolist()
        words = [text.read_text()[start : start + K] for start in starts]
        build = measure(KmerIndex.of, text, K, index_path)
        opened = measure(KmerIndex.of, text, K, index_path)
        plain = measure(as_dict, text)
        with KmerIndex.of(text, K, index_path) as index:
            query = microseconds("index.find(word)", index=index, word=words[0])
        found = as_dict(text)
        in_dict = microseconds("found[word]", found=found, word=words[0])
        del found
        touched = pages_touched(text, index_path, words)
        ways = {
            "index, built": (build, query, ""),
            "index, opened": (opened, query, touched),
            "dict of the text": (plain, in_dict, ""),
        }
        for way, (recording, lookup, pages) in ways.items():
            took, memory = (
                in_words(recording.wall, "seconds"),
                in_words(recording.peak.anonymous, "bytes"),
            )
            print(f"| {size} | {way} | {took} | {memory} | {lookup} | {pages} |")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
