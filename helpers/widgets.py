"""What stays in a saved notebook: of a widget, a copy that needs no kernel; of a progress bar,
nothing.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from tqdm import tqdm

from .kernel import running_shell

PROGRESS_DELAY_S = 2.0  # seconds before a progress bar shows
VIEW = "application/vnd.jupyter.widget-view+json"
# Hides the copy, which is the style's parent, while its widget is on the page; and where JupyterLab
# has only a text in the widget's place, hides that: "Error displaying widget: model not found".
# JupyterLab removes the styles of a notebook that it doesn't trust, but it shows no widgets there
# either.
_STYLE = (
    '<style class="zc-copy-{0}">:root:has(.zc-live-{0}) :has(> .zc-copy-{0}),'
    " .jp-OutputArea-child:has(+ * .zc-copy-{0}) > .jp-OutputArea-output:not(:has(*)) {{display: "
    "none}}</style>"
)
# For what the student types or clicks in: in a narrow window lines break, and a field stays wide
# enough to type in.
INPUTS = (
    "<style>.zc-inputs > * {width: auto; height: auto; flex-wrap: wrap} .zc-inputs "
    ":is(.jupyter-button, label) {max-width: 100%; height: auto; line-height: 1.4; white-space: "
    "pre-wrap; text-align: left; flex-shrink: 1} .zc-inputs .jupyter-button {padding: 4px 10px} "
    ".zc-inputs label:has(input) {display: flex; flex-direction: row-reverse; justify-content: "
    "flex-end; gap: 6px} .zc-inputs :is(input[type=text], select) {flex: 0 1 12em; min-width: "
    "8em; min-height: 26px} .zc-inputs p {line-height: 1.5; margin: 2px 0 8px 1em}</style>"
)


class Lasting:
    """Shown as a widget, and below it as its copy in HTML, which appears when the widget's kernel
    is gone. A subclass has `widget`, and `_repr_html_` and `__repr__` of what is shown now; it
    calls `renew` when that changes.
    """

    def renew(self) -> None:
        """Writes what is shown now into every copy."""
        for handle in self._handles:
            handle.update(self._copy(), raw=True)

    @cached_property
    def _handles(self) -> list[Any]:
        return []

    def _copy(self) -> dict[str, str]:
        return {
            "text/html": _STYLE.format(self.widget.model_id) + self._repr_html_(),
            "text/plain": repr(self),
        }

    def _ipython_display_(self) -> None:
        from IPython.display import display

        self.widget.add_class(f"zc-live-{self.widget.model_id}")
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        display({VIEW: view, "text/html": ""}, raw=True)
        handle = display(self._copy(), raw=True, display_id=True)
        if in_notebook():  # a terminal would print it again
            self._handles.append(handle)


def static_html(html: str) -> str:
    """A copy's HTML, for a page that has no widgets."""
    return re.sub(r'^<style class="zc-copy-.*?</style>', "", html)


def progress_bar(of: Iterable[Any] | None = None, **options: Any) -> tqdm:
    """A progress bar, tqdm's, that appears after PROGRESS_DELAY_S and leaves nothing. In a
    notebook, a line of text: tqdm's widget would stay in the file as one that no kernel knows.
    """
    line = {"file": _Line(), "position": 0} if in_notebook() else {}
    return tqdm(of, delay=PROGRESS_DELAY_S, leave=False, **line, **options)


class _Line:
    """A file whose last line is an output of the running cell; a blank line empties that."""

    handle: Any = None

    def write(self, text: str) -> None:
        from IPython.display import display

        line = {"text/plain": text.strip()} if text.strip() else {"text/html": ""}
        if self.handle:
            self.handle.update(line, raw=True)
        elif text.strip():
            self.handle = display(line, raw=True, display_id=True)

    def flush(self) -> None:
        """There's nothing to flush."""


def in_notebook() -> bool:
    """True in a Jupyter kernel, False in a terminal and in plain Python."""
    return hasattr(running_shell(), "kernel")
