"""Does a value borrow from a loan? What Yoke.attach asks of the function that it is given."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

ADVICE = "use Yoke.owned(value) to keep it without a cart, or return a view: view[a:b], np.frombuffer(view, dtype)"


def refusal(value: Any, lent: memoryview, name: str) -> str:
    """Why `value`, which the function `name` made of `lent`, does not borrow from it; "" if it does.

    It borrows if it shares memory with `lent` or leads to its owner by `.base` and `.obj`; a tuple, list, dict or
    dataclass if at least one value in it does. ValueError for a memoryview that was released.
    """
    found = []
    for leaf in leaves(value):
        if borrows(leaf, lent):
            return ""
        found.append(leaf)
    if len(found) == 1 and found[0] is value:
        why = _why(value)
    else:
        example = f" ({_why(found[0])})" if found else ""
        why = f"none of the {len(found)} values in this {type(value).__name__} is a view of the cart{example}"
    return f"{name} returned what does not borrow from the cart: {why}. {ADVICE}"


def leaves(value: Any) -> Iterator[Any]:
    """What tuples, lists, dicts and dataclasses hold, down to what is none of these; each container once."""
    seen: set[int] = set()
    left = [value]
    while left:
        one = left.pop()
        if is_dataclass(one) and not isinstance(one, type):
            inside = [getattr(one, field.name, None) for field in fields(one)]
        elif isinstance(one, dict):
            inside = list(one.values())
        elif isinstance(one, (tuple, list)):
            inside = list(one)
        else:
            yield one
            continue
        if id(one) not in seen:  # a list can hold itself
            seen.add(id(one))
            left.extend(reversed(inside))


def borrows(leaf: Any, lent: memoryview) -> bool:
    """Is the owner of `lent` among the owners of `leaf`, or do the bytes of both lie at the same addresses?

    Addresses are compared by their bounds, as np.may_share_memory does.
    """
    if any(owner is lent.obj for owner in owners(leaf)):
        return True
    try:
        array = leaf if isinstance(leaf, np.ndarray) else np.frombuffer(leaf, np.uint8)
    except (TypeError, ValueError, BufferError):  # no buffer, or not in one piece
        return False
    return np.may_share_memory(array, np.frombuffer(lent, np.uint8))


def owners(leaf: Any) -> list[Any]:
    """`leaf`, what it is a view of, and so on; the last one owns the bytes."""
    chain = [leaf]
    while True:
        last = chain[-1]
        under = last.base if isinstance(last, np.ndarray) else last.obj if isinstance(last, memoryview) else None
        if under is None:
            return chain
        chain.append(under)


def _why(leaf: Any) -> str:
    kind, chain = type(leaf).__name__, owners(leaf)
    if len(chain) > 1:
        return f"this {kind} is a view of another owner's bytes ({type(chain[-1]).__name__})"
    try:
        memoryview(leaf).release()
    except TypeError:
        return f"{kind} has no bytes that could be the cart's; only tuples, lists, dicts and dataclasses are searched"
    return f"{kind} owns its bytes: a copy"
