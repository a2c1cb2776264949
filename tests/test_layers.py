"""Which tests must follow the rule for what is measured (conftest.py)."""

import ast
import re
from pathlib import Path

FIGURES = re.compile(
    r"\b(monotonic|perf_counter|process_time)\(\)|measure\(.*\)\.(peak|faults|wall)|run\.peak\."
)


def test_who_asserts_a_time_or_a_peak_is_marked():
    unmarked = []
    for path in Path(__file__).parent.glob("test_*.py"):
        module = ast.parse(path.read_text("utf-8"))
        of_all = [
            node
            for node in module.body
            if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)
        ]
        for test in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)):
            asserted = [
                ast.unparse(part) for part in ast.walk(test) if isinstance(part, ast.Assert)
            ]
            is_marked = "mark.measured" in " ".join(
                map(ast.unparse, (*of_all, *test.decorator_list))
            )
            if (
                test.name.startswith("test_")
                and not is_marked
                and any(map(FIGURES.search, asserted))
            ):
                unmarked.append(f"{path.name}: {test.name}")
    assert not unmarked
