"""What a student does in JupyterLab, in steps that tests share; the page itself is the fixture
`lab`.
"""

from playwright.sync_api import Locator, Page, expect

MINUTES = 60_000  # milliseconds, as Playwright counts
expect.set_options(timeout=MINUTES)  # a kernel may answer late when other tests run beside it


def opened(lab: Page, name: str) -> None:
    """Opens a notebook from the file browser, and waits until its kernel answers."""
    lab.locator(".jp-DirListing-item", has_text=name).dblclick(timeout=MINUTES)
    kernel_is_ready(lab, name)


def kernel_is_ready(lab: Page, name: str) -> None:
    """Waits until this notebook is open and in front, and its kernel answers."""
    lab.wait_for_function(
        """name => { const { currentWidget } = window.jupyterapp?.shell ?? {};
             return currentWidget?.context?.path === name && currentWidget.content }""",
        arg=name,
        timeout=MINUTES,
    )
    lab.evaluate(
        """async () => { const { context, sessionContext } = jupyterapp.shell.currentWidget;
             await context.ready; await sessionContext.ready;
             await sessionContext.session.kernel.info }"""
    )


def run_all(lab: Page) -> None:
    """Runs every cell, and waits until the last has run."""
    lab.set_default_timeout(4 * MINUTES)
    lab.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")


def cell(lab: Page, name: str) -> Locator:
    """A cell by its id. JupyterLab renders only what's near the window, so this scrolls to the cell
    first.
    """
    index = lab.evaluate(
        "name => jupyterapp.shell.currentWidget.content.widgets.findIndex(cell => cell.model.id "
        "=== name)",
        name,
    )
    assert index >= 0, f"no cell {name}"
    lab.evaluate(
        "index => { jupyterapp.shell.currentWidget.content.activeCellIndex = index }", index
    )
    # JupyterLab refuses to scroll here while it's scrolling by itself; all that matters is that the
    # cell is there.
    lab.evaluate(
        "index => jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start').catch(() "
        "=> {})",
        index,
    )
    found = lab.locator(
        f".jp-NotebookPanel:not(.lm-mod-hidden) [data-windowed-list-index='{index}']"
    )
    found.wait_for(state="attached")
    return found


def outputs(lab: Page) -> list[dict]:
    """Every output in the notebook, with the id of its cell."""
    return lab.evaluate(
        """() => jupyterapp.shell.currentWidget.content.widgets.flatMap(
             cell => cell.model.type !== 'code' ? [] :
             cell.model.outputs.toJSON().map(output => ({cell: cell.model.id, ...output})))"""
    )


def run(lab: Page) -> None:
    """Runs the active cell, and waits until it has run."""
    lab.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
