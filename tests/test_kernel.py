"""In a notebook, what the course itself raises is told in a line; every other error has its traceback."""

from collections.abc import Callable

import pytest
from IPython.core.interactiveshell import InteractiveShell

from helpers.kernel import tell_in_a_line

IMPORTS = """
from helpers.ideas.kmers import KmerIndex
from helpers.make import random_file
from helpers.measure import compare, measure
from helpers.show import curves
from helpers.teach import exercise, hand_in, predict, quiz, recorded
from helpers.units import size

def mine(*_):
    raise ValueError("mine")
"""


@pytest.fixture
def shown(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> Callable[[str], list[str]]:
    """Runs a cell and returns the lines that it shows."""
    tell_in_a_line(shell)
    shell.run_cell(IMPORTS)

    def run(text: str) -> list[str]:
        shell.run_cell(text)
        return capsys.readouterr().out.strip().splitlines()

    return run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exercise('02.chunk')", "ValueError: no exercise '02.chunk'; did you mean '02.chunks'"),
        ("quiz('02.nothing')", "ValueError: no quiz '02.nothing'; "),
        ("predict('02.x', '?').keep('many')", "ValueError: 'many' doesn't answer '02.x'; wanted: "),
        ("hand_in('77')", "ValueError: no lesson '77'; there are: 00, 01"),
        ("size('1 MB')", "ValueError: '1 MB' isn't a size"),
        ("random_file('x.bin', -1)", "ValueError: a size can't be negative: -1"),
        ("measure(len, 'ab', timeout=0)", "ValueError: timeout is in seconds, more than 0, not 0"),
        ("curves(compare({'a': len}, 'ab'), {'b': 1})", "ValueError: a prediction for 'b', but the methods are: a"),
    ],
)
def test_a_slip_is_told_in_a_line(shown: Callable, text: str, said: str):
    (line,) = shown(text)
    assert line.startswith(said)
    assert len(shown("%tb")) > 5, "and the whole traceback is there for those who ask"


@pytest.mark.parametrize("text", ["mine()", "recorded('x', mine)", "1 / 0", "import no_such_module", "size()",
                                  "KmerIndex.of('x', 99, 'y')"])  # fmt: skip
def test_any_other_error_has_its_traceback(shown: Callable, text: str):
    assert len(shown(text)) > 3
