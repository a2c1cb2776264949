"""`make site` and `make release`: what students may have and nothing else, and the same bytes from
the same commit.
"""

import re
import subprocess
import tomllib
from functools import partial
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import pytest
import student_edition
import test_publish
from bs4 import BeautifulSoup
from test_class_edition import clone, in_a_checkout, made, unix

from helpers.classroom.hand_out import NAME, zipped
from helpers.folders import ROOT, TEACHER
from helpers.publish import HandoutError
from helpers.publish.site import site
from helpers.teach.exercises import exercises

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
release = partial(made, module="release")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make handouts`, `make class` and `make book` leave, with two sample lessons."""
    folder = tmp_path_factory.mktemp("build")
    test_publish.made(folder)
    archive = zipped(student_edition.files(), student_edition.OF)
    digest = f"{sha256(archive).hexdigest()}  {NAME}.zip\n".encode()
    for name, data in (
        (f"class/{NAME}.zip", archive),
        (f"class/{NAME}.zip.sha256", digest),
        ("book/all.pdf", b"%PDF"),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def test_a_site_has_what_students_read_and_no_answer(build: Path):
    said = site(build=build)
    files = {path.name: path.read_bytes() for path in (build / "site").iterdir()}
    student = {path.name: path.read_bytes() for path in (build / "handouts/student").iterdir()}
    downloads = {"all.pdf", f"{NAME}.zip", f"{NAME}.zip.sha256"}
    assert files.keys() == student.keys() | downloads
    assert f"{len(student)} pages, {NAME}.zip" in said
    index = BeautifulSoup(files["index.html"], "html.parser").select_one("#downloads")
    assert {link["href"] for link in index.select("a")} == downloads
    assert index.code.get_text() == sha256(files[f"{NAME}.zip"]).hexdigest()
    secrets = [
        text
        for one in exercises()
        for text in (one.solution_source, *(answer.body for answer in one.wrong))
    ]
    secrets += [
        line for note in TEACHER.glob("*.md") for line in note.read_text("utf-8").splitlines()
    ]
    of_the_samples = ["solution-only-text", "wrong-answer-text", "who can take them back"]
    everything = b"\0".join(files.values())  # the zip's files are stored as they are
    for text in (*of_the_samples, *(text for text in secrets if len(text) > 200)):
        assert everything.find(text.encode()) < 0, text


def test_with_an_address_there_is_a_sitemap_and_each_page_names_its_own(build: Path):
    site("https://example.org/zero-copy", build)
    pages = sorted((build / "site").glob("*.html"))
    own = [f"https://example.org/zero-copy/{page.name.replace('index.html', '')}" for page in pages]
    links = [
        BeautifulSoup(page.read_bytes(), "html.parser").select_one("head > [rel=canonical]")
        for page in pages
    ]
    assert [link["href"] for link in links] == own
    assert [
        place.text
        for place in ElementTree.parse(build / "site" / "sitemap.xml").findall(".//{*}loc")
    ] == own


def test_what_is_missing_or_no_address_is_said_and_the_old_site_stays(tmp_path: Path):
    (tmp_path / "site").mkdir()
    for url in (
        "example.org",
        "ftp://example.org/",
        "https://example.org/?a",
        'https://example.org/" x',
    ):
        with pytest.raises(ValueError, match=re.escape(f"URL={url} isn't the address")):
            site(url, tmp_path)
    for missing in ("handouts/student/index.html", f"class/{NAME}.zip"):
        with pytest.raises(
            HandoutError, match=f"`make {missing.partition('/')[0]}` has written nothing"
        ):
            site(build=tmp_path)
        assert list((tmp_path / "site").iterdir()) == []
        (tmp_path / missing).parent.mkdir(parents=True)
        (tmp_path / missing).touch()


@in_a_checkout
@unix
@pytest.mark.slow
def test_a_commit_makes_the_same_release_everywhere(tmp_path: Path):
    one = clone(tmp_path / "one")
    other = clone(tmp_path / "another folder")
    said = release(one, f"v{VERSION}")
    assert said.returncode == 0, said.stderr
    subprocess.run(["git", "config", "core.autocrlf", "true"], cwd=other, check=True)
    said = release(
        other, umask=0o077, LC_ALL="C", TZ="Asia/Kolkata", PYTHONHASHSEED="7", SOURCE_DATE_EPOCH="1"
    )
    assert said.returncode == 0, said.stderr
    written = [
        {path.name: path.read_bytes() for path in (at / "build/release").iterdir()}
        for at in (one, other)
    ]
    digests, others = (
        {name: sha256(data).hexdigest() for name, data in files.items()} for files in written
    )
    assert digests == others
    sums = written[0]["SHA256SUMS"].decode().splitlines()
    assert {name: digest for digest, name in map(str.split, sums)} | {
        "SHA256SUMS": digests["SHA256SUMS"]
    } == digests
    wheel = f"zero_copy_measured_tools-{VERSION}-py3-none-any.whl"
    assert digests.keys() == {f"{NAME}-{VERSION}-source.zip", f"{NAME}.zip", wheel, "SHA256SUMS"}


@in_a_checkout
@pytest.mark.slow
def test_a_release_is_of_a_commit_and_of_its_version(tmp_path: Path):
    checkout = clone(tmp_path / "clone")
    wrong = release(checkout, "v99")
    (checkout / "forgotten.py").touch()
    dirty = release(checkout)
    for said, names in ((wrong, f"v{VERSION}, not v99"), (dirty, "forgotten.py")):
        assert said.returncode == 1 and names in said.stderr and said.stderr.count("\n") == 1, (
            said.stderr
        )
    assert not (checkout / "build").exists()


def test_the_version_is_in_one_place():
    newest = re.search(
        r"^## (\S+?)(,|$)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert newest[1] == VERSION, "CHANGELOG.md begins with another version than pyproject.toml's"
    # the one takes it from there, the other needs none
    for name in ("wheel/pyproject.toml", "CITATION.cff"):
        assert not re.search("^version", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE), (
            name
        )
