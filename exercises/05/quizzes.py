"""The answers to lesson 05's quizzes, measured."""

import numpy as np

from helpers.ideas.cow import Cow
from helpers.measure import twin


def changed_by_a_shallow_clone() -> int:
    """1 if the array written in place has changed for the lender, too, and the one that was
    replaced has not.
    """
    theirs = {"a": np.ones(4), "b": np.ones(4)}
    mine = Cow.borrowed(theirs).to_mut()
    mine["a"] *= 2
    mine["b"] = mine["b"] * 2
    changed = [bool((theirs[name] != 1).any()) for name in "ab"]
    return [[False, False], [True, False], [False, True], [True, True]].index(changed)


def owner_of_its_result() -> int:
    """Which of the four operations on an array in C order makes one that shares no memory
    with it.
    """
    a = np.arange(12.0).reshape(3, 4)
    made = (a[::-1, ::2], a.T, a.T.reshape(-1), a.reshape(-1)[2:].reshape(2, 5))
    return [np.shares_memory(one, a) for one in made].index(False)


def capacity_of_nothing() -> int:
    """2 if an owned, empty string has the capacity 0. The capacity is the word that is 16 in one
    with room for 16.
    """
    figures = twin("cow").figures
    roomy, empty = (
        [
            int(str(value), 0)
            for name, value in figures[f"words: owned{kind}"].items()
            if name.startswith("word ")
        ]
        for kind in (" beef", ", empty")
    )
    return 2 if empty[roomy.index(16)] == 0 else 1
