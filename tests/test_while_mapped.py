import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import folders
from helpers.lessons.hazards import allowed
from helpers.lessons.hazards.allowed import Allowed, while_mapped

POSIX = {
    "delete it": "old bytes",
    "rename another file over it": "old bytes",
    "rename it": "old bytes",
    "overwrite it in place": "new bytes",
    "append to it": "old bytes",
    "make it shorter": "SIGBUS",
    'open it with "wb"': "SIGBUS",
    "delete it, once the mapping is closed": "",
}


@pytest.fixture(scope="module")
def here() -> Allowed:
    return while_mapped()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operations are enough; one of them also ends the child."""
    names = ("rename another file over it", "make it shorter")
    monkeypatch.setattr(allowed, "OPERATIONS", {name: allowed.OPERATIONS[name] for name in names})


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux has it")
def test_linux_allows_all_of_it_and_what_the_view_shows_then(here: Allowed) -> None:
    assert {one.operation: one.shows for one in here} == POSIX
    assert all(one.allowed and not one.error for one in here)


@pytest.mark.skipif(sys.platform != "win32", reason="as Windows has it")
def test_windows_is_as_its_documentation_says(here: Allowed) -> None:
    for said in allowed.WINDOWS:
        if said.allowed is not None:
            assert (here[said.operation].allowed, here[said.operation].shows) == (said.allowed, said.shows)


def test_every_operation_is_answered_in_both_columns(here: Allowed) -> None:
    assert [one.operation for one in here] == [one.operation for one in allowed.WINDOWS] == list(allowed.OPERATIONS)


def test_no_file_stays(nothing_is_left: None, few: None) -> None:
    assert len(while_mapped().trials) == 2


def test_what_is_from_the_documentation_says_so_with_its_sources(
    here: Allowed, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(here, windows=None, machine=replace(here.machine, system="Linux 6.18"))
    assert "Windows, not measured" in repr(here) and "Windows, not measured" in here._repr_html_()
    for one in allowed.WINDOWS:
        assert one.allowed is None or (one.source and one.source in repr(here))
    assert not replace(here, machine=replace(here.machine, system="Windows 11")).documented


def test_macos_is_told_from_documents_unless_this_is_macos(here: Allowed) -> None:
    on = {name: replace(here, machine=replace(here.machine, system=name)) for name in ("Linux 6.18", "Darwin 24.1")}
    assert [one.operation for one in allowed.MACOS] == list(allowed.OPERATIONS)
    assert {one.operation: one.shows for one in allowed.MACOS} == POSIX
    assert "macOS, not measured" in on["Linux 6.18"].table()[0] and allowed.MACOS[0].source in repr(on["Linux 6.18"])
    assert "macOS" not in repr(on["Darwin 24.1"])


def test_a_recorded_windows_stands_in_for_the_documentation(
    here: Allowed, few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "RECORDED", tmp_path)
    windows = replace(here, trials=allowed.WINDOWS, machine=replace(here.machine, system="Windows 11"), windows=None)
    (tmp_path / allowed.RECORDED).write_text(json.dumps(windows.to_json()), encoding="utf-8")
    found = while_mapped()
    assert found.windows == windows
    assert "Windows, recorded on: Windows 11" in repr(found) and "Windows, not measured" not in repr(found)


def test_json_and_back(here: Allowed) -> None:
    assert Allowed.from_json(json.loads(json.dumps(here.to_json()))) == replace(here, windows=None)
    with pytest.raises(ValueError, match="not a 'zero-copy allowed while mapped'"):
        Allowed.from_json({"format": "another"})
    with pytest.raises(KeyError, match="there are: delete it, rename"):
        here["chmod it"]


@pytest.mark.skipif(sys.platform == "win32", reason="there it records")
def test_the_script_for_windows_refuses_to_record_another_system() -> None:
    command = [sys.executable, "-m", "helpers.lessons.hazards.record_windows"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folders.ROOT)
    assert ran.returncode == 1 and ran.stderr.strip() == f"this records what Windows does, and this is {sys.platform}"
