import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import folders
from helpers.lessons.hazards import allowed
from helpers.lessons.hazards.allowed import Allowed, documented, while_mapped

POSIX = {
    "delete it": "old bytes",
    "rename another file over it": "old bytes",
    "rename it": "old bytes",
    "overwrite it in place": "new bytes",
    "append to it": "old bytes",
    "make it shorter": "SIGBUS",
    'empty it, with open(…, "wb")': "SIGBUS",
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
    for said in documented("windows"):
        if said.allowed is not None:
            assert (here[said.operation].allowed, here[said.operation].shows) == (said.allowed, said.shows)


def test_what_is_from_documents_says_so_with_its_sources(here: Allowed) -> None:
    on = {
        name: replace(here, windows=None, machine=replace(here.machine, system=name))
        for name in ("Linux 6.18", "Darwin 24.1", "Windows 11")
    }
    linux = on["Linux 6.18"]
    for system, name in (("windows", "Windows"), ("macos", "macOS")):
        trials = documented(system)
        assert [trial.operation for trial in trials] == list(allowed.OPERATIONS)
        assert all(trial.allowed is None or trial.source in repr(linux) for trial in trials)
        assert all(f"{name}, not measured" in text for text in (repr(linux), linux._repr_html_()))
    assert {trial.operation: trial.shows for trial in documented("macos")} == POSIX
    assert "macOS" not in repr(on["Darwin 24.1"]) and "from its documentation" not in repr(on["Windows 11"])


def test_a_recorded_windows_stands_in_for_the_documents(
    nothing_is_left: None, few: None, here: Allowed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowed, "RECORDED", tmp_path / "10-windows.json")
    windows = replace(
        here, trials=documented("windows"), machine=replace(here.machine, system="Windows 11"), windows=None
    )
    allowed.RECORDED.write_text(json.dumps(windows.to_json()), encoding="utf-8")
    measured = while_mapped()
    assert measured.windows == windows and len(measured.trials) == 2
    assert "Windows, recorded on: Windows 11" in repr(measured) and "Windows, not measured" not in repr(measured)
    with pytest.raises(ValueError, match="not a 'zero-copy allowed while mapped'"):
        Allowed.from_json({"format": "another"})
    with pytest.raises(KeyError, match="there are: delete it, rename"):
        here["chmod it"]


@pytest.mark.skipif(sys.platform == "win32", reason="there it records")
def test_the_script_for_windows_refuses_to_record_another_system() -> None:
    command = [sys.executable, "-m", "helpers.lessons.hazards.record_windows"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folders.ROOT)
    assert ran.returncode == 1 and ran.stderr.strip() == f"this records what Windows does, and this is {sys.platform}"
