"""In a notebook, what the course itself raises is told in a line; every other error has its
traceback.
"""

from collections.abc import Callable

import pytest
from IPython.core.interactiveshell import InteractiveShell
from tables import cases, each

from helpers.kernel import tell_in_a_line

IMPORTS = cases("kernel")["imports"]


@pytest.fixture
def shown(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> Callable[[str], list[str]]:
    """Runs a cell and returns the lines that it shows."""
    tell_in_a_line(shell)
    shell.run_cell(IMPORTS)

    def run(text: str) -> list[str]:
        shell.run_cell(text)
        return capsys.readouterr().out.strip().splitlines()

    return run


@each("kernel", "slips")
def test_a_slip_is_told_in_a_line(shown: Callable, text: str, said: str):
    (line,) = shown(text)
    assert line.startswith(said)
    assert len(shown("%tb")) > 5, "and the whole traceback is there for those who ask"


@pytest.mark.parametrize(
    "text",
    [
        "mine()",
        "recorded('x', mine)",
        "1 / 0",
        "import no_such_module",
        "size()",
        "KmerIndex.of('x', 99, 'y')",
    ],
)
def test_any_other_error_has_its_traceback(shown: Callable, text: str):
    assert len(shown(text)) > 3
