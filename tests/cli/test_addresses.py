"""Commands take a gallery wherever it is kept: its address goes to the store of its scheme as it was typed."""

from __future__ import annotations

import json
from pathlib import Path

import memory_store
import pytest
from photos import folder, photo

from kcrc.cli import main
from kcrc.gallery import stores


@pytest.fixture(params=["memory", "postgresql"])
def birds(request: pytest.FixtureRequest) -> str:
    return "memory://birds" if request.param == "memory" else str(request.getfixturevalue("postgres_address"))


def test_a_gallery_of_another_store_is_built_asked_and_changed(
    birds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(stores.KINDS, "memory", memory_store)
    monkeypatch.setattr(memory_store, "PLACES", {})
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "photos", 4)
    one = str(photo(tmp_path / "one.jpg", "wren", 9))

    def said(*words: str) -> str:
        assert main(list(words)) == 0
        return capsys.readouterr().out

    assert said("build", "photos", "-o", birds, "-f", "hog").startswith(f"{birds}: 12 examples")
    assert said("predict", birds, one).split()[-2] == "wren"
    if birds.startswith("postgres"):
        assert said("predict", birds, one, "--on-server") == said("predict", birds, one)
    else:
        assert main(["predict", birds, one, "--on-server"]) == 1
        assert "is not on a server that could search" in capsys.readouterr().err
    said("add", birds, one, "--label", "owl")
    said("remove", birds, "1")
    assert "dropped 1 removed example" in said("compact", birds)
    assert json.loads(said("info", birds, "--json"))["examples"] == 12
    assert "12 examples" in said("export", birds, "birds.npz")
    again = f"{birds}_again"
    assert f"made {again} with 12" in said("import", again, "birds.npz")
    assert "added 0 examples, 12 were there already" in said("import", again, birds)
    assert "checked" in said("backup", birds, "copy.kcrc")
    assert "12 examples" in said("verify", "copy.kcrc")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(("memory", "postgres"))] == []
    assert main(["info", "nowhere://birds"]) == 1
    assert "no way to keep a gallery at 'nowhere://'" in capsys.readouterr().err
