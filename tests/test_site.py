"""`make site` and `make release`: what students may have and nothing else, and the same bytes from the same commit."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sample_lessons
import student_edition
from bs4 import BeautifulSoup
from test_class_edition import clone, in_a_checkout, unix
from test_publish import CLAIMS

from helpers.classroom.hand_out import NAME, zipped
from helpers.folders import ROOT, TEACHER
from helpers.publish import HandoutError, handouts
from helpers.publish.site import site
from helpers.teach.exercises import exercises

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make handouts`, `make class` and `make book` leave, with the two sample lessons."""
    folder = tmp_path_factory.mktemp("build")
    (folder / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    notebooks = sample_lessons.write(folder)
    handouts(notebooks, folder / "handouts", exercise=sample_lessons.exercise, claims=folder / "claims.toml")
    for name, data in {
        f"class/{NAME}.zip": zipped(student_edition.files(), student_edition.OF),
        "book/all.pdf": b"%PDF",
    }.items():
        (folder / name).parent.mkdir()
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.slow
def test_a_site_has_what_students_read_and_no_answer(build: Path):
    said = site(build)
    files = {path.name: path.read_bytes() for path in (build / "site").iterdir()}
    student = {path.name: path.read_bytes() for path in (build / "handouts/student").iterdir()}
    assert files.keys() == student.keys() | {"all.pdf", f"{NAME}.zip", f"{NAME}.zip.sha256"}
    assert f"{len(student)} pages" in said and "all.pdf" in said
    assert all(files[name] == page for name, page in student.items() if name != "index.html")
    digest = sha256(files[f"{NAME}.zip"]).hexdigest()
    index = BeautifulSoup(files["index.html"], "html.parser")
    assert files[f"{NAME}.zip.sha256"].decode().split() == [digest, f"{NAME}.zip"] and digest in index.get_text()
    links = {link["href"] for link in index.select("#downloads a")}
    assert links == files.keys() - student.keys() and not index.select("link[rel=canonical]")
    secrets = ["solution-only-text", "wrong-answer-text", "who can take them back"]  # of the sample lessons
    secrets += [answer.body for one in exercises() for answer in one.wrong if len(answer.body) > 200]
    secrets += [one.solution_source for one in exercises() if len(one.solution_source) > 200]
    secrets += [
        line for note in TEACHER.glob("*.md") for line in note.read_text("utf-8").splitlines() if len(line) > 80
    ]
    everything = b"\0".join(files.values())  # the zip's files are stored as they are
    assert len(secrets) > 300 and [secret for secret in secrets if secret.encode() in everything] == []


@pytest.mark.slow
@pytest.mark.parametrize("slash", ["", "/"])
def test_a_site_with_an_address_has_a_sitemap_and_pages_name_theirs(build: Path, slash: str):
    site(build, f"https://example.org/zero-copy{slash}")
    pages = sorted((build / "site").glob("*.html"))
    own = {page.name: f"https://example.org/zero-copy/{page.name.replace('index.html', '')}" for page in pages}
    for page in pages:
        (link,) = BeautifulSoup(page.read_bytes(), "html.parser").select("head > link")
        assert link["href"] == own[page.name] and link["rel"] == ["canonical"]
    listed = ElementTree.parse(build / "site" / "sitemap.xml").getroot()
    assert [place.text for place in listed.findall(".//{*}loc")] == list(own.values())


def test_what_is_missing_or_no_address_is_said_and_the_old_site_stays(tmp_path: Path):
    old = tmp_path / "site" / "index.html"
    old.parent.mkdir()
    old.write_text("old")
    for url in ("example.org", "ftp://example.org/", "https://example.org/?a", 'https://example.org/" x'):
        with pytest.raises(ValueError, match=re.escape(f"URL={url} isn't the address")):
            site(tmp_path, url)
    for missing in ("handouts/student/index.html", f"class/{NAME}.zip"):
        with pytest.raises(HandoutError, match=f"`make {missing.partition('/')[0]}` has written nothing"):
            site(tmp_path)
        (tmp_path / missing).parent.mkdir(parents=True)
        (tmp_path / missing).touch()
    assert old.read_text() == "old"
    site(tmp_path)
    assert old.read_text() != "old"


# --- releases -------------------------------------------------------------------------------------------------
def made(checkout: Path, *arguments: str, **own: str) -> subprocess.CompletedProcess[str]:
    """Runs `make release` in a checkout."""
    command = [sys.executable, "-B", "-m", "helpers.classroom.release", *arguments]
    environment = os.environ | {"PYTHONPATH": str(checkout)} | own
    return subprocess.run(command, cwd=checkout, env=environment, text=True, capture_output=True)


@in_a_checkout
@unix
@pytest.mark.slow
def test_a_commit_makes_the_same_release_everywhere(tmp_path: Path):
    one, other = clone(tmp_path / "one"), clone(tmp_path / "another folder")
    said = made(one, "--tag", f"v{VERSION}")
    assert said.returncode == 0, said.stderr
    subprocess.run(["git", "config", "core.autocrlf", "true"], cwd=other, check=True)
    (other / "helpers/show/__pycache__").mkdir()
    (other / "helpers/show/__pycache__/ignored.txt").touch()
    before = os.umask(0o077)
    try:
        said = made(other, LC_ALL="C", TZ="Asia/Kolkata", PYTHONHASHSEED="7", SOURCE_DATE_EPOCH="1")
    finally:
        os.umask(before)
    assert said.returncode == 0, said.stderr
    files, others = ({path.name: path.read_bytes() for path in (at / "build/release").iterdir()} for at in (one, other))
    assert files == others
    sums = dict(reversed(line.split()) for line in files.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: sha256(data).hexdigest() for name, data in files.items()}
    wheel = f"zero_copy_measured_tools-{VERSION}-py3-none-any.whl"
    source = f"{NAME}-{VERSION}-source.zip"
    assert files.keys() == {source, f"{NAME}.zip", wheel}
    listed = subprocess.run(["git", "ls-files"], cwd=one, text=True, capture_output=True, check=True).stdout.split("\n")
    with zipfile.ZipFile(one / "build/release" / source) as archive:
        inside = {entry.filename: entry for entry in archive.infolist() if not entry.is_dir()}
        assert inside.keys() == {f"{NAME}-{VERSION}/{name}" for name in listed if name}
        assert inside[f"{NAME}-{VERSION}/.ci/run"].external_attr >> 16 & 0o111, "a script that can't be run"


@in_a_checkout
@pytest.mark.slow
def test_a_release_is_of_a_commit_and_of_its_version(tmp_path: Path):
    checkout = clone(tmp_path / "clone")
    wrong = made(checkout, "--tag", "v99")
    (checkout / "forgotten.py").touch()
    dirty = made(checkout)
    for said, names in ((wrong, f"v{VERSION}, not v99"), (dirty, "forgotten.py")):
        assert said.returncode == 1 and names in said.stderr and said.stderr.count("\n") == 1, said.stderr
    assert not (checkout / "build").exists()


def test_the_version_is_in_one_place():
    wheel = tomllib.loads((ROOT / "wheel/pyproject.toml").read_text(encoding="utf-8"))
    assert wheel["project"]["dynamic"] == ["version"]
    newest = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest[1] == VERSION, "CHANGELOG.md begins with another version than pyproject.toml's"
    assert not re.search(r"^(version|commit|date-released):", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
