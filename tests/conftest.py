"""What every test starts from."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_student(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a student who has done nothing yet, so that no test reads or writes a real one's."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZERO_COPY_STATE", str(folder))
        yield folder
