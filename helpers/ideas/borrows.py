"""Lend bytes to a function, and see that what it makes of them borrows: a copy needs no cart, and is refused."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..owners import link_of, way_to_owner
from .carts import cart_of
from .hitch import Loan

ADVICE = "use Yoke.owned(value) to keep it without a cart, or return a view: view[a:b], np.frombuffer(view, dtype)"


def lend(owner: Any, function: Callable[[memoryview], Any]) -> tuple[Loan, Any]:
    """The loan of the bytes of `owner` (all that cart_of takes), and the view that `function` makes of them.

    ValueError if that does not borrow. If that or the function fails, nothing is lent any more once the exception is
    gone, and the cart is as it was: the caller's.
    """
    cart = cart_of(owner)
    lent = cart.lend()
    view = function(lent[:])  # a view of its own: to release it leaves the loan as it is
    if why := why_not_borrowed(view, lent, function):
        del view, lent  # or the traceback would keep them, and the bytes with them
        raise ValueError(why)
    return Loan(owner, cart, lent), view


def borrowed(function: Callable[[Any], Any], view: Any, loan: Loan | None) -> Any:
    """What `function` makes of a view; ValueError if that does not borrow from this loan. An owned value has none."""
    made = function(view)
    if loan is not None and (why := why_not_borrowed(made, loan.lent, function)):
        raise ValueError(why)
    return made


def why_not_borrowed(value: Any, lent: memoryview, function: Callable) -> str:
    """Why `value`, which the function made of `lent`, does not borrow from it; "" if it does.

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
    return f"{name_of(function)} returned what does not borrow from the cart: {why}. {ADVICE}"


def name_of(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


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
    """Do the bytes of both lie at the same addresses, or is the owner of `lent` among the owners of `leaf`?

    Addresses are compared by their bounds, as np.may_share_memory does. An empty view has none, but an owner.
    """
    try:
        array = leaf if isinstance(leaf, np.ndarray) else np.frombuffer(leaf, np.uint8)
        if np.may_share_memory(array, np.frombuffer(lent, np.uint8)):
            return True
    except (TypeError, ValueError, BufferError):  # no buffer, or not in one piece
        pass
    return any(owner is lent.obj for owner in way_to_owner(leaf))


def _why(leaf: Any) -> str:
    kind = type(leaf).__name__
    if link_of(leaf):
        return f"this {kind} is a view of another owner's bytes ({type(way_to_owner(leaf)[-1]).__name__})"
    try:
        memoryview(leaf).release()
    except TypeError:
        return f"{kind} has no bytes that could be the cart's; only tuples, lists, dicts and dataclasses are searched"
    return f"{kind} owns its bytes: a copy"
