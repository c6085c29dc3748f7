"""Weights are fetched by their address, once, and whole."""

from __future__ import annotations

import hashlib

import pytest

import gnomon as gn
from gnomon.drop_in import hub_files as hub
from gnomon.errors import ArgumentError

pytestmark = pytest.mark.unit


@pytest.fixture
def weights(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(hub, "_chosen", [])
    path = tmp_path / "net.pt"
    gn.save({"w": gn.ones(2)}, path)
    return path


def test_weights_are_fetched_once(weights, capfd):
    for _ in range(2):
        assert hub.load_state_dict_from_url(weights.as_uri())["w"].tolist() == [1, 1]
        weights.write_bytes(b"")

    assert capfd.readouterr().err.count("Downloading") == 1
    assert [x.name for x in (weights.parent / "home/hub/checkpoints").iterdir()] == ["net.pt"]


def test_a_file_of_another_hash_is_refused(weights, tmp_path):
    prefix = hashlib.sha256(weights.read_bytes()).hexdigest()[:8]
    hub.download_url_to_file(weights.as_uri(), tmp_path / "whole.pt", prefix)

    with pytest.raises(ArgumentError, match="its hash begins"):
        hub.download_url_to_file(weights.as_uri(), tmp_path / "other.pt", "no")
    assert not (tmp_path / "other.pt").exists()


def test_the_folder_is_chosen(weights, tmp_path):
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
    hub.set_dir(tmp_path / "mine")

    hub.load_state_dict_from_url(weights.as_uri(), file_name="a.pt")

    assert (tmp_path / "mine/checkpoints/a.pt").exists()
