"""Entry points of repositories: of a folder, or fetched as GitHub gives them."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

from gnomon.drop_in import hub, hub_files
from gnomon.errors import ArgumentError

pytestmark = pytest.mark.unit

CONF = '''
dependencies = ["json"]
from beside import TWO

def twice(x=1):
    """Two times x."""
    return TWO * x

def _inside():
    pass
'''
FILES = {"hubconf.py": CONF, "beside.py": "TWO = 2\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(hub_files, "_chosen", [str(tmp_path / "hub")])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    made = tmp_path / "mine"
    made.mkdir()
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


def archive(names: dict[str, str], top: str = "owner-name-0123/") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, text in names.items():
            file.writestr(top + name, text)
    return made.getvalue()


class GitHub:
    """What the two addresses of a repository give."""

    def __init__(self, monkeypatch, content: bytes, branches=("main",)) -> None:
        self.content, self.branches, self.asked = content, branches, []
        monkeypatch.setattr(hub, "urlopen", self)
        monkeypatch.setattr(hub_files, "urlopen", self)

    def __call__(self, url: str) -> io.BytesIO:
        self.asked.append(url)
        if "/tree/" in url and url.rstrip("/").rpartition("/")[2] not in self.branches:
            raise HTTPError(url, 404, "Not Found", None, None)
        return io.BytesIO(self.content)


def test_an_entry_point_of_a_folder_is_called(folder):
    assert hub.load(folder, "twice", 3, source="local") == 6
    assert str(folder) not in sys.path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"model": "thrice"}, "Cannot find callable thrice"),
        ({"model": "dependencies"}, "Cannot find callable dependencies"),
        ({"model": "twice", "source": "disk"}, "Unknown source: 'disk'"),
    ],
)
def test_what_a_folder_does_not_offer_is_refused(folder, words, told):
    with pytest.raises(ArgumentError, match=told):
        hub.load(folder, **{"source": "local", **words})


def test_a_folder_without_entry_points_and_a_missing_package_are_named(folder):
    (folder / "hubconf.py").write_text("dependencies = ['no_such_package']\nx = len\n")
    with pytest.raises(ArgumentError, match="Missing dependencies: no_such_package"):
        hub.load(folder, "x", source="local")
    (folder / "hubconf.py").unlink()
    with pytest.raises(ArgumentError, match=r"hubconf\.py: no such file"):
        hub.load(folder, "x", source="local")


def test_a_repository_is_fetched_once(folder, monkeypatch, capsys):
    server = GitHub(monkeypatch, archive(FILES))

    assert hub.load("owner/name:v1", "twice", trust_repo=True) == 2
    assert hub.load("owner/name:v1", "twice", x=4) == 8
    assert hub.list("owner/name:v1") == ["twice"]
    assert hub.help("owner/name:v1", "twice") == "Two times x."
    assert server.asked == ["https://github.com/owner/name/zipball/v1"]
    assert "Using cache found in" in capsys.readouterr().err
    assert sorted(x.name for x in Path(hub.get_dir()).iterdir()) == [
        "owner_name_v1",
        "trusted_list",
    ]
    hub.load("owner/name:v1", "twice", force_reload=True)
    assert len(server.asked) == 2


@pytest.mark.parametrize("branches", [("main",), ("master",)])
def test_the_branch_is_found(folder, monkeypatch, branches):
    server = GitHub(monkeypatch, archive(FILES), branches)

    assert hub.load("pytorch/name", "twice") == 2
    assert server.asked[-1].endswith(f"/zipball/{branches[0]}")


def test_without_a_network_a_branch_that_is_there_serves(folder, monkeypatch):
    def refuse(url: str) -> None:
        raise URLError("no network")

    GitHub(monkeypatch, archive(FILES))
    hub.load("pytorch/name", "twice")
    monkeypatch.setattr(hub, "urlopen", refuse)

    assert hub.load("pytorch/name", "twice") == 2
    with pytest.raises(URLError):
        hub.load("pytorch/other", "twice")


@pytest.mark.parametrize(("answer", "is_trusted"), [("y", True), ("", False), ("what", False)])
def test_who_is_not_known_is_asked_for(folder, monkeypatch, answer, is_trusted):
    server = GitHub(monkeypatch, archive(FILES))
    monkeypatch.setattr("builtins.input", lambda words: answer)

    if is_trusted:
        assert hub.load("owner/name:v1", "twice") == 2
    else:
        with pytest.raises(ArgumentError, match="Untrusted repository owner/name"):
            hub.load("owner/name:v1", "twice")
        assert not server.asked


@pytest.mark.parametrize("address", ["name", "a/b/c", "../x", "a/b:", ""])
def test_what_is_no_repository_is_refused(folder, address):
    with pytest.raises(ArgumentError, match="is no repository"):
        hub.load(address, "twice", trust_repo=True)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (archive({"hubconf.py": ""}, top="../"), "leaves its folder"),
        (archive({"hubconf.py": ""}, top=""), "holds 0 folders"),
        (archive({"a/x": "", "b/x": ""}, top=""), "holds 2 folders"),
    ],
)
def test_hostile_archives_leave_nothing(folder, monkeypatch, content, told):
    GitHub(monkeypatch, content)

    with pytest.raises(ArgumentError, match=told):
        hub.load("owner/name:v1", "twice", trust_repo=True)
    assert [x.name for x in Path(hub.get_dir()).iterdir()] == ["trusted_list"]
    assert not (folder.parent / "hubconf.py").exists()
