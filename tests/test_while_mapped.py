import sys
from dataclasses import replace

import pytest

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


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux has it")
def test_linux_allows_all_of_it_and_what_the_view_shows_then(here: Allowed) -> None:
    assert {one.operation: one.shows for one in here} == POSIX
    assert all(one.allowed and not one.error for one in here)


@pytest.mark.skipif(sys.platform != "win32", reason="as Windows has it")
def test_windows_is_as_its_documentation_says(here: Allowed) -> None:
    for done, said in zip(here, documented("windows"), strict=True):
        if said.allowed is not None:
            assert (done.allowed, done.shows) == (said.allowed, said.shows)


def test_what_is_from_documents_says_so_with_its_sources(here: Allowed) -> None:
    on = {
        name: replace(here, machine=replace(here.machine, system=name))
        for name in ("Linux 6.18", "Darwin 24.1", "Windows 11")
    }
    linux = on["Linux 6.18"]
    for system, name in (("windows", "Windows"), ("macos", "macOS")):
        trials = documented(system)
        assert [trial.operation for trial in trials] == list(allowed.OPERATIONS)
        assert all(trial.allowed is None or trial.source in repr(linux) for trial in trials)
        assert all(f"{name}, not measured" in text for text in (repr(linux), linux._repr_html_()))
    assert {trial.operation: trial.shows for trial in documented("macos")} == POSIX
    assert "macOS" not in repr(on["Darwin 24.1"])
    assert "from its documentation" not in repr(on["Windows 11"])
