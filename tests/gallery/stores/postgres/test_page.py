"""The blocks of docs/postgres.md run, with the server of these tests in place of the reader's."""

from __future__ import annotations

import kcrc
from docs.running import BIRDS, folders, given, run, stored

READERS = "postgresql://ann@db.example/museum?gallery=birds"


def test_the_python_of_the_page_runs(postgres_address: str, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    folders()
    known = given()
    stored(postgres_address, known)
    known["vectors"] = known["X_new"][:1]
    assert run("postgres.md", known, {READERS: postgres_address}) == 3
    with kcrc.Gallery.open(postgres_address) as gallery:
        assert gallery.counts["wren"] == 1 + sum(known["y"] % len(BIRDS) == BIRDS.index("wren"))
    assert known["answerer"].why is None  # the server searched
    assert capsys.readouterr().out.strip() in {f"['{bird}']" for bird in BIRDS}
