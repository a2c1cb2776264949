"""KmerIndex: where does a word of k letters occur in a DNA text? The index is built once, and
mapped from then on.

A k-mer is a place in the text where a word of k letters A, C, G, T begins. A letter takes two bits,
so a word is a number below 4**k, and sorting the numbers sorts the words. The index is two arrays
in an arena (arena.py):

    codes      uint64, sorted: the word of each k-mer
    positions  where the word begins in the text; equal words in text order

A query is two binary searches, for the first and for the last of the equal words. Each looks at
about log2(n) of n codes: each early step touches a new page, the same in both searches, and the
last steps share one. No other page of the codes is touched, or needs to be in memory.
"""

import os
from functools import partial
from typing import BinaryIO

import numpy as np

from ..safe_files import regular_file
from .arena import Arena, Builder, snapshot
from .carts import Closing

LONGEST = 32  # letters of two bits fit into 64 bits
OTHER = 4
LETTERS = np.full(256, OTHER, np.uint8)
LETTERS[list(b"ACGT")] = LETTERS[list(b"acgt")] = range(4)  # lower case marks repeats
ROOT = np.dtype([("codes", "u8"), ("positions", "u8")])  # their offsets in the arena
LAYOUT = f"k-mer index 2: {ROOT.descr}"


class KmerIndex(Closing):
    """The k-mers of a text, by word: codes and positions, read-only views of the arena. Make it
    with `KmerIndex.of`.
    """

    def __init__(self, arena: Arena, k: int) -> None:
        root = arena.array(arena.root)
        self.arena, self.k = arena, k
        self.codes, self.positions = arena.array(root["codes"]), arena.array(root["positions"])

    @classmethod
    def of(
        cls, text_path: str | os.PathLike[str], k: int, snapshot_path: str | os.PathLike[str]
    ) -> "KmerIndex":
        """Opens the index in the snapshot. Builds it first if it's missing, or has another k or
        another text.

        A text counts as another if its size or modification time differs. Any byte but a letter
        ends a run: no word spans an N or a line end. Building takes about 40 bytes of memory per
        letter, opening takes none. ValueError if k is outside 1 to 32; SnapshotError if the file at
        `snapshot_path` is foreign or damaged; OSError.
        """
        if not 1 <= k <= LONGEST:
            raise ValueError(f"k must be 1 to {LONGEST} letters of two bits each, not {k}")
        with regular_file(text_path) as file:
            text = os.fstat(file.fileno())
            origin = f"k={k} {text.st_size} bytes {text.st_mtime_ns} ns".encode()
            build = partial(_place, file=file, k=k)
            size = 16 * text.st_size
            return cls(snapshot(snapshot_path, LAYOUT, build, origin, size), k)

    def find(self, word: str) -> np.ndarray:
        """The positions where `word` begins, sorted: a view of the mapping. ValueError if it isn't
        k letters.
        """
        if self.codes is None:
            raise ValueError("this index is closed: open it again with KmerIndex.of")
        letters = LETTERS[np.frombuffer(word.encode(), np.uint8)]
        if len(letters) != self.k or OTHER in letters:
            raise ValueError(f"a word in this index is {self.k} letters A, C, G, T, not {word!r}")
        # stays uint64: given an int, numpy would turn all codes into floats
        code = codes_of(letters, self.k)[0]
        begin = np.searchsorted(self.codes, code)
        end = np.searchsorted(self.codes, code, "right")
        return self.positions[begin:end]

    def close(self) -> None:
        """Unmaps the arena, unless somebody still has a view of it."""
        self.codes = self.positions = None
        self.arena.close()


def codes_of(letters: np.ndarray, k: int) -> np.ndarray:
    """(n - k + 1,) uint64: the word that begins at each letter; (0,) if n < k. letters: (n,) uint8,
    0 to 3.
    """
    codes = np.zeros(max(len(letters) - k + 1, 0), np.uint64)
    for i in range(k):
        codes <<= 2
        codes |= letters[i : i + len(codes)]
    return codes


def _place(builder: Builder, file: BinaryIO, k: int) -> None:
    """Places the index of a text as the root of an arena."""
    file.seek(0)
    letters = LETTERS[np.fromfile(file, np.uint8)]
    codes = codes_of(letters, k)
    complete = np.ones(len(codes), bool)
    for i in range(k):
        complete &= letters[i : i + len(codes)] != OTHER
    positions = np.flatnonzero(complete)
    codes = codes[complete]
    order = np.argsort(codes, kind="stable")  # equal words stay in text order
    narrow = np.uint32 if len(letters) < 2**32 else np.uint64
    placed = builder.place(codes[order]), builder.place(positions[order].astype(narrow))
    builder.root = builder.place(np.array(placed, ROOT))
