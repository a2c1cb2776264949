import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tables import each_of

from helpers.publish.tidy import NotTidied, main, stored_form, tidy


def cell(name: Any, source: Any = "1 + 1", kind: str = "code", **more: Any) -> dict[str, Any]:
    made = {"cell_type": kind, "source": source, "metadata": {}} | (
        {"id": name} if name is not None else {}
    )
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {}) | more


def notebook(*cells: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more


def saved(folder: Path, *cells: dict[str, Any]) -> Path:
    path = folder / "lesson.ipynb"
    path.write_text(json.dumps(notebook(*cells)), encoding="utf-8")
    return path


def test_stored_form_of_a_used_notebook():
    used = cell(
        "run",
        "x = 'é'\nx",
        execution_count=7,
        outputs=[{"output_type": "stream", "name": "stdout", "text": "é"}],
        metadata={
            "tags": ["exercise"],
            "jupyter": {"source_hidden": True, "outputs_hidden": True},
            "collapsed": True,
        },
    )
    text = stored_form(
        notebook(used, metadata={"language_info": {"name": "python", "version": "3.13.0"}})
    )
    tags = {"tags": ["exercise"], "jupyter": {"source_hidden": True}}
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    kept = notebook(cell("run", ["x = 'é'\n", "x"], metadata=tags))
    assert json.loads(text) == kept | {
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}
    }
    assert "é" in text


def test_it_is_the_form_that_jupyter_writes_and_tidying_twice_changes_nothing_more(tmp_path: Path):
    path = saved(tmp_path, cell("run"), cell("why", ["# Why\n", "– because"], kind="markdown"))
    assert tidy(path, check=True)
    assert tidy(path)
    once = path.stat()
    text = path.read_text(encoding="utf-8")
    assert nbformat.writes(nbformat.reads(text, as_version=4)) + "\n" == text
    assert not tidy(path, check=True)
    assert not tidy(path)
    assert path.stat().st_ino == once.st_ino
    assert path.stat().st_mtime_ns == once.st_mtime_ns


def test_empty_cells_go_and_pasted_pictures_stay():
    picture = {"a.png": {"image/png": "iVBORw0K"}}
    kept = cell("seen", "![](attachment:a.png)", kind="markdown", attachments=picture)
    cells = json.loads(stored_form(notebook(kept, cell("0a1b2c3d", " \n"))))["cells"]
    assert [(c["id"], c["attachments"]) for c in cells] == [("seen", picture)]


def test_names():
    for name in ("run", "copy-mmap-run", "step-2", "a1b2c3d", "deadbeef1"):
        assert json.loads(stored_form(notebook(cell(name))))["cells"][0]["id"] == name


@each_of(
    ("name", "why"),
    (None, "the id None"),
    ("a1b2c3d4", "a machine made"),
    ("a3f2c1d0-1234-4abc-8def-0123456789ab", "a machine made"),
    ("12345678", "lower-case words"),
    ("copy_run", "lower-case words"),
    ("x" * 65, "64 letters"),
)
def test_names_that_are_refused(tmp_path: Path, name: Any, why: str):
    path = saved(tmp_path, cell("fine"), cell(name, "\nimport mmap\nmore"))
    before = path.read_bytes()
    with pytest.raises(
        NotTidied, match=rf"(?s)lesson\.ipynb.*cell 2, which starts 'import mmap'.*{why}"
    ):
        tidy(path)
    assert path.read_bytes() == before


def test_a_name_twice_is_refused():
    with pytest.raises(NotTidied, match=r"cell 2.*'run', like an earlier cell"):
        stored_form(notebook(cell("run"), cell("run")))


@each_of(
    ("content", "why"),
    (b'{"cells": [', "not JSON"),
    (b"\xff\xfe", "UTF-8"),
    (b"[]", "format 4"),
    (b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [1]}', "not a valid notebook"),
    (b'{"nbformat": 3, "worksheets": []}', "format 4"),
    (
        json.dumps(notebook(cell("a", metadata={"tags": "teacher"}))).encode(),
        "not a valid notebook",
    ),
)
def test_what_is_no_notebook_is_left_alone(tmp_path: Path, content: bytes, why: str):
    (path := tmp_path / "work.ipynb").write_bytes(content)
    with pytest.raises(NotTidied, match=rf"work\.ipynb.*{why}"):
        tidy(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["work.ipynb"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(tmp_path, cell("run"))
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "b-checkpoint.ipynb").touch()
    assert main([str(tmp_path)]) == 0
    assert "lesson.ipynb: tidied" in capsys.readouterr().out
    assert not tidy(path, check=True)
    (tmp_path / "broken.ipynb").write_text("{")
    assert main([str(tmp_path)]) == 1
    assert "broken.ipynb" in capsys.readouterr().err
    assert main([str(tmp_path / "absent.ipynb")]) == 1
