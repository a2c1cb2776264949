"""`python -m helpers.classroom.release TAG` writes a release: a commit's source, students' edition
and wheel. The same commit makes the same bytes: the archives are stored, not compressed, as in
hand_out.py. Only the wheel is compressed, so another version of zlib may make other bytes of it.
"""

import os
import subprocess
import sys
import tomllib
import zipfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from ..edition import git
from ..folders import BUILD, ROOT
from ..safe_files import write_folder
from .course_of_nbgrader import NotReady
from .hand_out import NAME, committed, last_commit, not_committed, student_files, zipped

FOLDER = BUILD / "release"


def release(tag: str = "") -> str:
    """Replaces build/release/ with the three files and their SHA256SUMS. Returns text that says
    what was written. Raises NotReady without git, if anything isn't committed, or if `tag` isn't
    the one for this version.
    """
    of = last_commit()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    if changed := not_committed():
        raise NotReady(f"A release is made from a commit. Commit or remove: {changed}")
    if tag not in ("", f"v{version}"):
        raise NotReady(
            f"pyproject.toml says version {version}, so the tag is v{version}, not {tag}."
        )
    unchanged = ("-c", "core.autocrlf=false", "-c", "core.eol=lf")
    source = git(
        *unchanged, "archive", "--format=zip", "-0", f"--prefix={NAME}-{version}/", of.commit
    )
    files = {
        f"{NAME}-{version}-source.zip": source,
        f"{NAME}.zip": zipped(student_files(committed(of.commit), of), of),
        **wheel(source, git("show", "--no-patch", "--format=%ct", of.commit).decode().strip()),
    }
    sums = "".join(f"{sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    write_folder(FOLDER, files | {"SHA256SUMS": sums.encode()})
    return f"Version {version}, edition {of}, in {FOLDER}, with SHA256SUMS:\n{sums.rstrip()}"


def wheel(source: bytes, time: str) -> dict[str, bytes]:
    """The wheel, by its name, built from the source archive: files that are not in the commit can't
    get into it.
    """
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(BytesIO(source)) as archive:
            archive.extractall(folder)
        (project,) = Path(folder).glob("*/wheel")
        build = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "wheel",
            "-d",
            Path(folder, "built"),
        ]
        environment = os.environ | {"SOURCE_DATE_EPOCH": time}
        done = subprocess.run(build, cwd=project, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise NotReady(f"hatchling built no wheel: {done.stderr.strip()}")
        return {path.name: path.read_bytes() for path in Path(folder, "built").iterdir()}


if __name__ == "__main__":
    try:
        print(release(*sys.argv[1:]))
    except (NotReady, OSError) as error:
        sys.exit(f"Nothing was written. {error}")
