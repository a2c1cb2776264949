"""The page explorer as buttons: each does one thing to a page, and then draws what the kernel
says.
"""

from collections.abc import Callable
from html import escape
from typing import Any

from ..measure.cache import PageCache
from ..measure.explorer import Explorer, Film, Step
from ..measure.pages import PageMap, PageState
from ..units import NOT_MEASURED, in_words
from .figure import Interactive, Picture
from .pages import page_film

ADVICE = ("normal", "random", "sequential", "willneed")
ON_PAPER = 12  # steps: as many as fit on a page
LOGGED = 4  # actions named below the buttons


def page_explorer(explorer: Explorer) -> Interactive:
    """Grids of my page table, the page cache and a forked child's page table, the last action's
    cost, and buttons.

    On paper, the film of the explorer's last 12 steps; in a notebook that is opened again, the
    grids after the last click. Every button calls the method of the same name, so `explorer.film`
    has your clicks too. If a method refuses, the reason appears below the buttons. You may show an
    explorer twice; *Look again* shows what happened to it elsewhere.
    """
    return _Panel(explorer).interactive


class _Panel:
    def __init__(self, explorer: Explorer):
        import ipywidgets

        self.explorer = explorer
        self.grids, self.counters, self.message, self.log = (ipywidgets.HTML() for _ in range(4))
        self.page = ipywidgets.BoundedIntText(
            value=min(3, explorer.pages - 1),
            min=0,
            max=explorer.pages - 1,
            # it takes any other for the nearest of these, silently
            description=f"Page, 0 to {explorer.pages - 1:,}",
            style={"description_width": "initial"},
            layout={"width": "13em"},
        )
        self.advice = ipywidgets.Dropdown(
            options=ADVICE,
            description="Advice",
            tooltip="What to tell the kernel about the reads to come, madvise(2)",
            style={"description_width": "initial"},
            layout={"width": "12em"},
        )
        self.kind = ipywidgets.ToggleButtons(
            options=["private", "shared"],
            value=self._kind(),
            tooltips=[
                "Edits stay in my own memory",
                "Edits go to the file, for everyone who maps it",
            ],
            style={"button_width": "auto"},
        )
        self.kind.observe(self._remap, "value")
        x = explorer
        button = self._button
        self.child = [
            button(
                "Child reads",
                "The child reads a byte of the page",
                lambda: x.child_touch(self.page.value),
            ),
            button(
                "Child writes",
                "The child writes a byte of the page",
                lambda: x.child_write(self.page.value),
            ),
        ]
        groups = [
            _group(
                "One page",
                self.page,
                button("Touch", "Read a byte of the page", lambda: x.touch(self.page.value)),
                button("Write", "Write a byte of the page", lambda: x.write(self.page.value)),
            ),
            _group(
                "All pages",
                button("Scan forwards", "Read a byte of every page, in order", x.scan),
                button(
                    "Scan at random",
                    "Read a byte of every page, in a shuffled order",
                    x.scan_randomly,
                ),
            ),
            _group(
                "The reads to come",
                self.advice,
                button(
                    "Advise",
                    "Give the kernel this advice, madvise(2)",
                    lambda: x.advise(self.advice.value),
                ),
            ),
            _group(
                "Take away",
                button("Drop", "Empty my page table; a private mapping's edits are lost", x.drop),
                button("Page out", "Take my pages, as memory pressure would", x.page_out),
                button(
                    "Evict", "Drop the file's pages that nobody maps from the page cache", x.evict
                ),
            ),
            _group(
                "A child, on the same page",
                button("Fork", "Make a child with the same mapping", x.fork),
                *self.child,
            ),
            _group("The mapping", self.kind),
        ]
        columns = "repeat(auto-fit, minmax(min(100%, 300px), 1fr))"
        buttons = ipywidgets.GridBox(
            groups, layout={"grid_template_columns": columns, "grid_gap": "4px 16px"}
        )
        again = button(
            "Look again", "Read the pages' states again, and change nothing", lambda: x.now
        )
        below = ipywidgets.Box(
            [again, self.log], layout={"align_items": "center", "grid_gap": "0 12px"}
        )
        rows = [self.grids, self.counters, buttons, self.message, below]
        self.box = ipywidgets.VBox(rows, layout={"max_width": "690px", "grid_gap": "6px"})
        self.box.add_class("zc-explorer")
        self.shown = explorer.film[-2:][0]
        self.in_force = ADVICE[0]
        self._show(explorer.film[-1])
        self.interactive = Interactive(self.box, page_film(explorer.film[-ON_PAPER:]))

    def _button(self, name: str, tooltip: str, action: Callable[[], Step]) -> Any:
        import ipywidgets

        button = ipywidgets.Button(
            description=name, tooltip=tooltip, layout={"width": "auto", "flex": "none"}
        )
        button.on_click(lambda _: self._do(action))
        return button

    def _kind(self) -> str:
        return "shared" if self.explorer.shared else "private"

    def _remap(self, change: dict[str, Any]) -> None:
        if change["new"] != self._kind():
            self._do(lambda: self.explorer.remap(shared=change["new"] == "shared"))
            self.kind.value = self._kind()  # unchanged if the remap was refused

    def _do(self, action: Callable[[], Step]) -> None:
        try:
            step = action()
        except Exception as error:  # shown where the reader looks, and the buttons stay usable
            reason = getattr(error, "strerror", None) or str(error)
            self.message.value = (
                f'<div role="alert"><strong>Not done.</strong> {escape(reason)}</div>'
            )
        else:
            self.message.value = ""
            self.interactive.draw(self._show(step))

    def _show(self, step: Step) -> Picture:
        grids = page_film(_maps(step), before=_maps(self.shown))
        self.grids.value = grids._repr_html_()
        self.shown = step
        film = self.explorer.film
        actions = ", ".join(f"<code>{escape(step.action)}</code>" for step in film[-LOGGED:])
        more = f"{len(film) - LOGGED:,} before, then " if len(film) > LOGGED else ""
        style = "font-size:smaller;opacity:.75;line-height:1.4"
        self.log.value = f'<div style="{style}">Done so far: {more}{actions}</div>'
        self.kind.value = self._kind()
        if (in_force := _advice(film)) != self.in_force:
            self.advice.value = self.in_force = in_force
        self.counters.value = _counters(step, in_force)
        for button in self.child:
            button.disabled = step.child is None
        return grids


def _advice(film: Film) -> str:
    """The advice in force, which a new mapping doesn't have; "willneed" is an order, and no advice
    for later.
    """
    for step in reversed(film):
        if step.action.startswith("map"):
            break
        if (advice := step.action.removeprefix("advise ")) in ADVICE[:3]:
            return advice
    return ADVICE[0]


def _maps(step: Step) -> dict[str, PageMap | PageCache]:
    child = {"the child's page table": step.child} if step.child is not None else {}
    return {"my page table": step.mine, "the page cache": step.cache} | child


def _group(name: str, *controls: Any) -> Any:
    """Controls under a common heading."""
    import ipywidgets

    head = ipywidgets.HTML(
        f'<span style="font-size:smaller;opacity:.75">{name}</span>', layout={"margin": "0"}
    )
    row = ipywidgets.Box(controls, layout={"flex_flow": "row wrap", "align_items": "center"})
    return ipywidgets.VBox([head, row])


def _counters(step: Step, advice: str) -> str:
    """Two lines: what the action cost, and what there is now."""
    if step.mine.states is None:
        return (
            f'<div role="status" class="zc-counters">{NOT_MEASURED}: {escape(step.mine.why)}</div>'
        )
    cost = {
        "minor faults": in_words(step.minor, "count"),
        "major faults": in_words(step.major, "count"),
        "read from the device": in_words(step.device_read_bytes, "bytes"),
    }
    cost |= {"byte read": str(step.value)} if isinstance(step.value, int) else {}
    cached = None if step.cache.count is None else step.cache.count * step.mine.page_size
    now = _sizes("my", step.mine) | {"page cache": in_words(cached, "bytes")}
    now |= _sizes("child's", step.child) if step.child is not None else {}
    now |= {"advice": advice}
    one = '<span style="white-space:nowrap">{0} <strong data-counter="{0}">{1}</strong></span>'
    each = (
        [one.format(*map(escape, counter)) for counter in counters.items()]
        for counters in (cost, now)
    )
    of_the_action, by_now = map(" · ".join, each)
    return (
        '<div role="status" class="zc-counters"'
        f' style="line-height:1.6"><div><strong>{escape(step.action)}</strong>:'
        f" {of_the_action}</div><div>now: {by_now}</div></div>"
    )


def _sizes(whose: str, pages: PageMap) -> dict[str, str]:
    # it must be kept
    anonymous = pages.count(PageState.ANONYMOUS, PageState.FORKED, PageState.SWAPPED)
    lent = pages.count(PageState.FILE, PageState.SHARED)  # by the page cache
    sizes = {"anonymous": anonymous, "file-backed": lent}
    return {
        f"{whose} {kind}": in_words(count * pages.page_size, "bytes")
        for kind, count in sizes.items()
    }
