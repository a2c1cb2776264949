"""What makes yokes (yoke.py) safe: those of one cart share a loan, and the view of each must borrow from the cart."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..owners import link_of, way_to_owner
from .carts import Buffer, Cart, cart_of

ADVICE = "Return a view, such as view[a:b] or np.frombuffer(view, dtype), or keep the copy in Yoke.owned(value)"


class Loan:
    """The bytes of a cart, lent to all yokes of that cart. The last yoke to leave closes the cart.

    lent   a view of all its bytes, which their owner counts; None once the loan has ended
    yokes  how many share the loan
    """

    _of_cart: ClassVar[dict[int, "Loan"]] = {}
    _lock = threading.RLock()  # reentrant: a finaliser may run here in the same thread

    def __init__(self, cart: Cart, lent: memoryview) -> None:
        self.cart, self.lent, self.yokes = cart, lent, 0

    @classmethod
    def of(cls, owner: Buffer | Cart, function: Callable[[memoryview], Any]) -> tuple["Loan", Any]:
        """Lends the bytes of `owner` for one yoke more, and returns the view that `function` makes of them, too.

        ValueError if the view doesn't borrow. Whatever fails, the cart is the caller's again.
        """
        cart = cart_of(owner)
        lent = cart.lend()
        view = function(lent[:])  # a view of its own: the function may release it, and the loan stays
        if reason := copy_reason(view, lent, function):
            del view, lent  # or the traceback would keep them alive, and the bytes too
            raise ValueError(reason)
        with cls._lock:
            loan = cls._of_cart.setdefault(id(cart), cls(cart, lent))
            return loan.join(), view

    def join(self) -> Self:
        with self._lock:
            if self.lent is None:
                raise ValueError("the last yoke of this cart was released meanwhile: attach the cart again")
            self.yokes += 1
            return self

    def leave(self) -> None:
        with self._lock:
            self.yokes -= 1
            if self.yokes:
                return
            del self._of_cart[id(self.cart)]
            self.lent = None  # first, because this view would keep the cart from closing
        with contextlib.suppress(BufferError):  # some carts raise if a view escaped, instead of waiting for it
            self.cart.close()


def copy_reason(value: Any, lent: memoryview, function: Callable) -> str | None:
    """Why `value`, which the function made from `lent`, doesn't borrow from it; None if it does.

    A value borrows if it shares memory with `lent` or leads to its owner by `.base` and `.obj`. A tuple, list, dict or
    dataclass borrows if any value in it does. ValueError for a memoryview that was released.
    """
    copies = []
    for leaf in leaves(value):
        if borrows(leaf, lent):
            return None
        copies.append(leaf)
    if len(copies) == 1 and copies[0] is value:
        reason = _reason(value)
    else:
        example = f" ({_reason(copies[0])})" if copies else ""
        reason = f"none of the {len(copies)} values in this {type(value).__name__} is a view of the cart{example}"
    return f"{name_of(function)}'s result doesn't borrow from the cart: {reason}. {ADVICE}"


def name_of(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


def leaves(value: Any) -> Iterator[Any]:
    """The values in nested tuples, lists, dicts and dataclasses, depth first; opens each container once."""
    opened: set[int] = set()
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
        if id(node) not in opened:  # a list can hold itself
            opened.add(id(node))
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


def _reason(leaf: Any) -> str:
    kind = type(leaf).__name__
    if link_of(leaf):
        return f"this {kind} is a view of another owner's bytes ({type(way_to_owner(leaf)[-1]).__name__})"
    try:
        memoryview(leaf).release()
    except TypeError:
        return f"{kind} has no buffer, and only tuples, lists, dicts and dataclasses are searched for views"
    return f"{kind} owns its bytes, so it's a copy"
