"""11.cache: after each of nine orders of lending, these files are mapped and no others; what is
lent can be read.
"""

import secrets
from pathlib import Path

from helpers.make import random_file
from helpers.measure import maps
from helpers.teach.inside import kind_of
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import MiB

MOST = 2
# +a lends model a, -a gives it back, !a gives it back by an exception -> what is lent, and mapped,
# then
ORDERS = {
    "+a -a +b -b": ("", "ab"),
    "+a -a +b -b +c -c": ("", "bc"),
    "+a -a +b -b +a -a +c -c": ("", "ac"),
    "+a +a -a +b -b +c -c": ("a", "ac"),
    "+a +b -b +c": ("ac", "ac"),
    "+a +b +c": ("abc", "abc"),
    "+a +b +c -b": ("ac", "ac"),
    "+a +b -b -a +c -c": ("", "bc"),
    "+a !a +b -b +c -c": ("", "bc"),
}
SLIPS = {
    "no-with": "`lend` returned {}, which can't be used in a `with`.",
    "no-mapping": (
        "`with cache.lend(path) as model` gave {}. Lend the mapping itself, as `load` returned it."
    ),
    "swallowed": "a block raised an exception, and it never reached the caller.",
    "unmapped-while-lent": (
        "`{}` was still lent, and you had unmapped it. Count the loans: a model can be lent twice."
    ),
    "loaded-again": "`{}` was mapped, and you loaded it again.",
    "not-given-back": (
        "a block raised an exception, and its model counts as lent for ever. What runs in any case?"
    ),
    "still-mapped": (
        "`{}` should have been unmapped: it wasn't lent, and more than two models were mapped."
    ),
    "not-kept": (
        "`{}` wasn't there any more, although there was room for it: the next request would load "
        "it again."
    ),
    "another-unmapped": "you kept `{}`, and unmapped a model that was lent later.",
}


def run(function, most: int, orders: list[tuple[str, dict[str, Path]]]) -> list[dict]:
    """For each order of lending: the first thing wrong with a loan, what was loaded, and what is
    mapped and can be read in the end. An order is its steps, and the models' files by their
    letters.
    """
    import gc
    import mmap
    import sys
    import weakref

    class Stop(Exception):
        pass

    ends, kept = [], []
    for steps, paths in orders:
        letters, loaded, loans = {path: letter for letter, path in paths.items()}, [], []

        def load(path, letters=letters, loaded=loaded):
            with open(path, "rb") as file:
                mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            loaded.append((letters[path], weakref.ref(mapping)))
            return mapping

        cache, end = function(most, load), {"slip": None}
        for what, letter in steps.split():
            if what == "+":
                loan = cache.lend(paths[letter])
                if not (hasattr(loan, "__enter__") and hasattr(loan, "__exit__")):
                    end["slip"] = "no-with", kind_of(loan)
                    break
                model = loan.__enter__()
                if kind_of(model) != "mmap.mmap":
                    end["slip"] = "no-mapping", kind_of(model)
                    break
                loans.append((letter, loan, model))
                del model, loan
                continue
            at = max(at for at, loan in enumerate(loans) if loan[0] == letter)
            loan = loans.pop(at)[1]
            error = Stop() if what == "!" else None
            try:
                if loan.__exit__(type(error) if error else None, error, None):
                    end["slip"] = "swallowed", ""
            except Stop:
                pass
            del loan, error
        gc.collect()
        end["loaded"] = "".join(letter for letter, _ in loaded)
        end["mapped"] = [
            letter for letter, made in loaded if made() is not None and not made().closed
        ]
        end["read"] = [(letter, None if model.closed else model[:64]) for letter, _, model in loans]
        ends.append(end)
        kept.append((cache, loans))
    sys.modules["__main__"].kept = kept  # until the judge has looked
    return ends


def judge(attempt: Attempt) -> Verdict:
    orders = []
    for steps in ORDERS:
        (folder := attempt.folder.resolve() / secrets.token_hex(4)).mkdir()
        orders.append((steps, {letter: folder / secrets.token_hex(4) for letter in "abc"}))
        for path in orders[-1][1].values():
            random_file(path, attempt.size, seed=secrets.randbelow(2**32))
    attempt.hand_out(attempt.folder)
    mapped: set[str] = set()

    def look(pid: int) -> None:
        mapped.update(region.path for region in maps.regions(pid))

    outside = not maps.why_not()
    seen = attempt.run(run, MOST, orders, memory_limit=256 * MiB, look=look if outside else None)
    for (steps, paths), end in zip(orders, seen.value, strict=True):
        there = (
            {letter for letter, path in paths.items() if str(path) in mapped}
            if outside
            else set(end["mapped"])
        )
        begins = {letter: path.read_bytes()[:64] for letter, path in paths.items()}
        if found := slip(steps, end, there, begins):
            cause, *about = found
            raise NotYet(cause, f"after {in_words(steps)}: {SLIPS[cause].format(*about)}")
    figures = (
        f"{len(orders)} orders",
        f"{sum(len(end['loaded']) for end in seen.value)} files mapped",
    )
    done = (
        "What is lent stays mapped, what isn't goes when there are too many, and the one lent last "
        "goes last."
    )
    return right(
        (
            done
            if outside
            else f"{done} (Whether it was unmapped couldn't be seen from outside here.)"
        ),
        figures,
    )


def slip(
    steps: str, end: dict, there: set[str], begins: dict[str, bytes]
) -> tuple[str, ...] | None:
    """What was wrong at the end of this order, and what to say about it; None if nothing was."""
    lent, wanted = ORDERS[steps]
    if end["slip"]:
        cause, kind = end["slip"]
        return cause, called(kind)
    for letter, read in end["read"]:
        if read != begins[letter] or letter not in there:
            return "unmapped-while-lent", letter
    if twice := [letter for letter in end["loaded"] if end["loaded"].count(letter) > 1]:
        return "loaded-again", twice[0]
    more, less = sorted(there - set(wanted)), sorted(set(wanted) - there)
    if "!" in steps and more:
        return ("not-given-back",)
    if more:
        return ("another-unmapped" if less else "still-mapped"), more[0]
    return ("not-kept", less[0]) if less else None


def in_words(steps: str) -> str:
    """An order of lending, in words."""
    does = {
        "+": "lending `{}`",
        "-": "giving back `{}`",
        "!": "leaving the block of `{}` by an exception",
    }
    return ", ".join(does[what].format(letter) for what, letter in steps.split())
