"""Lend bytes to a function and check that its result borrows them. A copy is refused: it needs no cart."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..owners import link_of, way_to_owner
from .carts import cart_of
from .hitch import Loan

ADVICE = "Return a view, such as view[a:b] or np.frombuffer(view, dtype), or keep the copy in Yoke.owned(value)"


def lend(owner: Any, function: Callable[[memoryview], Any]) -> tuple[Loan, Any]:
    """Lends the bytes of `owner` (anything cart_of takes). Returns the loan, and the view that `function` makes.

    ValueError if the view doesn't borrow. Whatever fails, the loan ends with the exception, and the cart is the
    caller's again.
    """
    cart = cart_of(owner)
    lent = cart.lend()
    view = function(lent[:])  # a view of its own: the function may release it, and the loan stays
    if why := why_not_borrowed(view, lent, function):
        del view, lent  # or the traceback would keep them alive, and the bytes too
        raise ValueError(why)
    return Loan(owner, cart, lent), view


def borrowed(function: Callable[[Any], Any], view: Any, loan: Loan | None) -> Any:
    """What `function` makes of a view. ValueError if that doesn't borrow from `loan` (None for an owned value)."""
    made = function(view)
    if loan is not None and (why := why_not_borrowed(made, loan.lent, function)):
        raise ValueError(why)
    return made


def why_not_borrowed(value: Any, lent: memoryview, function: Callable) -> str:
    """Says why `value`, which the function made from `lent`, doesn't borrow from it; "" if it does.

    A value borrows if it shares memory with `lent` or leads to its owner by `.base` and `.obj`. A tuple, list, dict or
    dataclass borrows if any value in it does. ValueError for a memoryview that was released.
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
    return f"{name_of(function)}'s result doesn't borrow from the cart: {why}. {ADVICE}"


def name_of(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


def leaves(value: Any) -> Iterator[Any]:
    """The values in nested tuples, lists, dicts and dataclasses, depth first; opens each container once."""
    seen: set[int] = set()
    left = [value]
    while left:
        node = left.pop()
        if is_dataclass(node) and not isinstance(node, type):
            inside = [getattr(node, field.name, None) for field in fields(node)]
        elif isinstance(node, dict):
            inside = list(node.values())
        elif isinstance(node, (tuple, list)):
            inside = list(node)
        else:
            yield node
            continue
        if id(node) not in seen:  # a list can hold itself
            seen.add(id(node))
            left.extend(reversed(inside))


def borrows(leaf: Any, lent: memoryview) -> bool:
    """Do `leaf` and `lent` overlap in memory, or does `leaf` lead to the owner of `lent`?

    np.may_share_memory compares the bounds of their addresses. An empty view has no addresses, only an owner.
    """
    try:
        array = leaf if isinstance(leaf, np.ndarray) else np.frombuffer(leaf, np.uint8)
        if np.may_share_memory(array, np.frombuffer(lent, np.uint8)):
            return True
    except (TypeError, ValueError, BufferError):  # no buffer, or not contiguous
        pass
    return any(owner is lent.obj for owner in way_to_owner(leaf))


def _why(leaf: Any) -> str:
    kind = type(leaf).__name__
    if link_of(leaf):
        return f"this {kind} is a view of another owner's bytes ({type(way_to_owner(leaf)[-1]).__name__})"
    try:
        memoryview(leaf).release()
    except TypeError:
        return f"{kind} has no buffer, and only tuples, lists, dicts and dataclasses are searched for views"
    return f"{kind} owns its bytes, so it's a copy"
