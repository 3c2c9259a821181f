"""The server says who is near, and the answers are those of the file."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import psycopg
import pytest

from kcrc._base.arrays import Array
from kcrc.confidence.answers import Answers
from kcrc.errors import KCRCError, StateError
from kcrc.gallery import Gallery
from kcrc.gallery.check import problems
from kcrc.gallery.stores.copying import copy_gallery
from kcrc.gallery.stores.postgres.address import parse
from kcrc.scale import on_server
from kcrc.scale.on_server import ServerAnswerer

FIXED = {"form": "rkhs", "decision": "ratio", "locality": "atoms", "gamma": 0.1, "scaling": "plain", "kernel": "linear"}
METHODS = {
    "as it is": {"n_neighbors": 7, "kernel": "linear", "scaling": "plain"},
    "unit": {"n_neighbors": 7, "kernel": "linear", "scaling": "unit"},
    "standardised": {"n_neighbors": 9, "kernel": "rbf", "scaling": "standard"},
    "whitened": {"n_neighbors": 9, "kernel": "rbf", "scaling": "within"},
    "coarse to fine": {"n_neighbors": 5, "n_candidates": 20, "distance": "manhattan", "kernel": "exp"},
}


def made(path: Path, parameters: dict[str, object], *, grid: bool = False) -> Path:
    rng = np.random.default_rng(0)
    with Gallery.create(path, dim=6) as gallery:
        for number, name in enumerate(["wren", "robin", "heron"]):
            vectors = rng.normal(number, 2, (60, 6)) * [1, 2, 3, 4, 5, 60]
            gallery.add(name, np.round(vectors / 40) if grid else vectors, duplicates="keep")
        gallery.tune(parameters={**FIXED, **parameters})
    return path


def same(one: Answers, other: Answers, *, probabilities: bool = True) -> None:
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.evidence.rows, other.evidence.rows)
    np.testing.assert_array_equal(one.evidence.classes, other.evidence.classes)
    np.testing.assert_allclose(one.evidence.distances, other.evidence.distances, rtol=1e-6)
    np.testing.assert_allclose(one.evidence.residuals, other.evidence.residuals, rtol=1e-4, atol=1e-6)
    if probabilities:
        np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=1e-4, atol=1e-6)


@pytest.fixture
def queries() -> Array:
    return np.random.default_rng(7).normal(1, 2, (40, 6)).astype(np.float32) * [1, 2, 3, 4, 5, 60]


@pytest.mark.parametrize("name", METHODS)
def test_answers_are_those_of_the_file_also_while_examples_come_and_go(
    name: str, postgres_address: str, tmp_path: Path, queries: Array
) -> None:
    with Gallery.open(made(tmp_path / "a.kcrc", METHODS[name])) as file:
        copy_gallery(file.store, postgres_address, check=problems)
        with Gallery.open(postgres_address) as server:
            asked = ServerAnswerer(server)
            rng = np.random.default_rng(1)
            for step in range(5):
                found = asked.answer(queries, explain=True)
                assert asked.why is None
                # How sure answers are was learned by each gallery for itself, from the same examples.
                same(found, file.answering.answerer().answer(queries, explain=True), probabilities=step == 0)
                with Gallery.open(postgres_address, readonly=True) as whole:
                    same(found, whole.answering.answerer().answer(queries, explain=True))
                new = rng.normal(1, 2, (5, 6)) * [1, 2, 3, 4, 5, 60]
                for gallery in (file, server):
                    if step == 0:
                        gallery.add("owl", new)
                    elif step == 1:
                        gallery.remove(range(1, 40))
                    elif step == 2:
                        gallery.undo()
                    elif step == 3:
                        gallery.relabel([41, 181], "heron")


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"n_neighbors": None, "mu": 0.1}, "all examples at once"),
        ({"n_neighbors": 2, "locality": "classes", "mu": 0.1}, "whole classes"),
        ({"n_neighbors": 5, "distance": "manhattan", "mu": 0.1}, "a server cannot order by its distance"),
    ],
)
def test_what_needs_all_examples_is_answered_here_and_says_so(
    parameters: dict[str, object], reason: str, postgres_address: str, tmp_path: Path, queries: Array
) -> None:
    with Gallery.open(made(tmp_path / "a.kcrc", parameters)) as file:
        copy_gallery(file.store, postgres_address, check=problems)
        with Gallery.open(postgres_address) as server:
            asked = ServerAnswerer(server)
            same(asked.answer(queries), file.answering.answerer().answer(queries))
            assert reason in str(asked.why)


def test_where_many_are_equally_far_none_of_them_is_missed(
    postgres_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_server, "MORE", 1)
    path = made(tmp_path / "a.kcrc", {"n_neighbors": 3, "kernel": "linear", "scaling": "plain"}, grid=True)
    with Gallery.open(path) as file:
        copy_gallery(file.store, postgres_address, check=problems)
        with Gallery.open(postgres_address) as server:
            asked, grid = ServerAnswerer(server), np.repeat(np.float32([[0], [0.5], [1]]), 6, axis=1)
            same(asked.answer(grid), file.answering.answerer().answer(grid))
            assert asked.why is None
            monkeypatch.setattr(on_server, "MOST", 10)
            same(asked.answer(grid), file.answering.answerer().answer(grid))
            assert "single precision does not tell" in str(asked.why)


def test_an_answer_stands_where_coordinates_cannot_be_extended(
    postgres_address: str, tmp_path: Path, queries: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise StateError("The server went away.")

    monkeypatch.setattr(on_server, "LATER", 3)
    with Gallery.open(made(tmp_path / "a.kcrc", METHODS["as it is"])) as file:
        copy_gallery(file.store, postgres_address, check=problems)
    with Gallery.open(postgres_address) as server:
        asked = ServerAnswerer(server)
        asked.answer(queries)
        server.add("owl", np.eye(6)[:5] * 1e3)
        monkeypatch.setattr(type(server.store), "extend_coordinates", gone)
        same(asked.answer(queries), server.answering.answerer().answer(queries))
        assert asked.why is None


def test_coordinates_are_extended_once_many_examples_have_none(
    postgres_address: str, tmp_path: Path, queries: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_server, "LATER", 3)
    with Gallery.open(made(tmp_path / "a.kcrc", METHODS["as it is"])) as file:
        copy_gallery(file.store, postgres_address, check=problems)
        where = parse(postgres_address)

        def counted() -> list[int]:
            with psycopg.connect(**where.connection) as db:  # type: ignore[arg-type]
                tables = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
                names = [n for (n,) in db.execute(tables, (where.schema,)) if n.startswith("coordinates_")]
                return [
                    int(db.execute(f"SELECT count(*) FROM {where.schema}.{n}").fetchone()[0])  # type: ignore
                    for n in names
                ]

        with Gallery.open(postgres_address) as server:
            asked = ServerAnswerer(server)
            asked.answer(queries)
            assert counted() == [180]
            server.add("owl", np.eye(6)[:3] * 1e3)
            same(asked.answer(queries), server.answering.answerer().answer(queries))
            assert counted() == [180]
            server.add("owl", np.eye(6)[3:5] * 1e3)
            for _ in range(2):
                same(asked.answer(queries), server.answering.answerer().answer(queries))
                assert counted() == [185]
            assert server.verify().sound
            server.erase([1])
            assert counted() == []  # they would say where it was


@pytest.mark.parametrize("harm", ["DELETE FROM {} WHERE id < 50", "UPDATE {0} SET id = 900 WHERE id = 7"])
def test_coordinates_that_others_took_rows_out_of_are_made_anew(
    harm: str, postgres_address: str, tmp_path: Path, queries: Array
) -> None:
    with Gallery.open(made(tmp_path / "a.kcrc", METHODS["as it is"])) as file:
        copy_gallery(file.store, postgres_address, check=problems)
        here = file.answering.answerer().answer(queries, explain=True)
    where = parse(postgres_address)
    with (
        psycopg.connect(**where.connection, autocommit=True) as db,  # type: ignore[arg-type]
        Gallery.open(postgres_address) as server,
        Gallery.open(postgres_address, readonly=True) as reader,
    ):
        same(ServerAnswerer(server).answer(queries, explain=True), here)
        assert server.verify().sound
        named = "SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' "
        (table,) = db.execute(named + "AND relname LIKE 'coordinates%%'", (where.schema,)).fetchone() or ("",)
        db.execute(harm.format(f"{where.schema}.{table}"))
        (problem,) = server.verify().problems
        assert "lacks coordinates of some examples" in problem
        asked = ServerAnswerer(reader)
        same(asked.answer(queries, explain=True), here)
        assert "no sound coordinates" in str(asked.why)
        asked = ServerAnswerer(server)
        same(asked.answer(queries, explain=True), here)
        assert asked.why is None
        assert server.verify().sound


def test_one_who_may_not_write_asks_what_is_there_or_all(postgres_address: str, tmp_path: Path, queries: Array) -> None:
    with Gallery.open(made(tmp_path / "a.kcrc", METHODS["unit"])) as file:
        copy_gallery(file.store, postgres_address, check=problems)
        with Gallery.open(postgres_address, readonly=True) as reader:
            asked = ServerAnswerer(reader)
            same(asked.answer(queries), file.answering.answerer().answer(queries))
            assert "open to read only" in str(asked.why)
            with Gallery.open(postgres_address) as server:
                ServerAnswerer(server).answer(queries)
            same(asked.answer(queries), file.answering.answerer().answer(queries))
            assert asked.why is None
        with pytest.raises(StateError, match="not on a server"):
            ServerAnswerer(file)


@pytest.mark.parametrize("extension", [False, True])
def test_while_another_program_makes_the_coordinates_all_are_fetched(
    postgres_address: str, tmp_path: Path, queries: Array, extension: bool
) -> None:
    with Gallery.open(made(tmp_path / "a.kcrc", METHODS["as it is"])) as file:
        copy_gallery(file.store, postgres_address, check=problems)
        here = file.answering.answerer().answer(queries, explain=True)
    where = parse(postgres_address)
    with (
        psycopg.connect(**where.connection, autocommit=True) as db,  # type: ignore[arg-type]
        Gallery.open(postgres_address) as gallery,
    ):
        if extension:
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute("SELECT pg_advisory_lock(%s)", (zlib.crc32(where.schema.encode()) << 8,))
        asked = ServerAnswerer(gallery)
        same(asked.answer(queries, explain=True), here)
        assert asked.why is not None
        assert "another program" in asked.why
        db.execute("SELECT pg_advisory_unlock_all()")
        same(asked.answer(queries, explain=True), here)
        assert asked.why is None


def test_by_the_servers_graph_every_answer_says_how_much_it_finds(postgres_address: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 12)).astype(np.float32)
    with Gallery.create(tmp_path / "a.kcrc", dim=12) as file:
        file.add([f"c{i % 5}" for i in range(1500)], X)
        # More neighbours than the 40 rows that the graph gives unless it is told to look at more.
        file.tune(parameters={**FIXED, "n_neighbors": 70})
        copy_gallery(file.store, postgres_address, check=problems)
        queries = rng.normal(size=(20, 12)).astype(np.float32)
        due = file.answering.answerer().answer(queries).evidence
    with Gallery.open(postgres_address) as server:
        asked = ServerAnswerer(server, search="hnsw")
        found = asked.answer(queries, explain=True).evidence
        assert asked.why is None
        assert found.rows.shape == (20, 70)
        assert (found.rows >= 0).all()
        shared = np.mean([np.isin(mine, theirs).mean() for mine, theirs in zip(found.rows, due.rows, strict=True)])
        assert found.search.startswith("hnsw on the server, finds ")
        said = float(found.search.split("finds ")[1].split(" %")[0])
        assert abs(said - 100 * shared) < 5
        assert said > 80
        exact = ServerAnswerer(server).answer(queries).evidence  # though the graph is there
        assert exact.search == "exact"
        np.testing.assert_array_equal(exact.rows, due.rows)
        server.remove(range(1, 900))  # what is gone stays in the graph: more are asked for
        left = asked.answer(queries).evidence
        assert (left.rows >= 900).all()
        np.testing.assert_array_equal(ServerAnswerer(server).answer(queries).evidence.rows >= 900, True)
    with psycopg.connect(**parse(postgres_address).connection) as db:  # type: ignore[arg-type]
        (made,) = db.execute(
            "SELECT count(*) FROM pg_indexes WHERE schemaname = %s AND indexdef LIKE '%%USING hnsw%%'",
            (parse(postgres_address).schema,),
        ).fetchone()  # type: ignore[misc]
    assert made == 1


def test_there_is_no_other_search_on_a_server(postgres_address: str, tmp_path: Path) -> None:
    with (
        Gallery.open(made(tmp_path / "a.kcrc", METHODS["unit"])) as file,
        pytest.raises(KCRCError, match="Known: exact, hnsw"),
    ):
        ServerAnswerer(file, search="ivf")
