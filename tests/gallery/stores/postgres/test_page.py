"""The blocks of docs/postgres.md run, with the server of these tests in place of the reader's."""

from __future__ import annotations

from problems import GIVEN

import kcrc
from docs.running import folders, given, run

READERS = "postgresql://ann@db.example/museum?gallery=birds"


def test_the_python_of_the_page_runs(postgres_address: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders()
    known = given()
    with kcrc.Gallery.from_folder("photos", postgres_address, feature="pixels") as gallery:
        gallery.tune(
            parameters=GIVEN | {"n_neighbors": 5, "mu": "auto"}, seconds=1
        )  # the nearest: a server finds those
        known["vectors"] = kcrc.features.restore(gallery.feature_state()).transform(["new/2.jpg"])
    assert run("postgres.md", known, {READERS: postgres_address}) == 2
    with kcrc.Gallery.open(postgres_address) as gallery:
        assert gallery.counts["wren"] == 7 + 1
    assert known["answerer"].why is None  # the server searched
