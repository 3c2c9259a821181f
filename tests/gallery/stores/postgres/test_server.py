"""What only a gallery on a server has to stand: a schema with foreign things in it, damage, rights, forks, versions."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psycopg
import pytest
from photos import small_picture

from kcrc.errors import FileError, KCRCError, StateError, WriteNeeded
from kcrc.gallery import Gallery, verify
from kcrc.gallery.stores import postgres
from kcrc.gallery.stores.postgres import schema
from kcrc.gallery.stores.postgres.address import parse
from lab.bench.postgres_server import PostgresServer


@pytest.fixture
def birds(postgres_address: str) -> str:
    with Gallery.create(postgres_address, dim=2) as made:
        made.add(["wren", "robin"], [[1, 2], [3, 4]], sources=["a.jpg", "b.jpg"], thumbnails=[small_picture(0), None])
    return postgres_address


def run(address: str, statement: str) -> None:
    """Do something to a gallery behind its back; {} stands for its schema."""
    where = parse(address)
    with psycopg.connect(**where.connection, autocommit=True) as db:  # type: ignore[arg-type]
        db.execute(statement.format(where.schema))  # type: ignore[arg-type]


FOREIGN = [
    "CREATE VIEW {}.more AS SELECT 1",
    "CREATE TABLE {}.more (id bigint)",
    "CREATE SEQUENCE {}.more",
    "CREATE FUNCTION {}.more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE FUNCTION {0}.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER t BEFORE INSERT ON {0}.history FOR EACH ROW EXECUTE FUNCTION {0}.f()",
    "CREATE RULE r AS ON INSERT TO {}.history DO INSTEAD NOTHING",
    "ALTER TABLE {}.examples ALTER COLUMN label SET DEFAULT 'owl'",
    "ALTER TABLE {}.examples ADD CHECK (length(label) > 0)",
    "ALTER TABLE {}.examples ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {}.examples ADD COLUMN more text",
    "ALTER TABLE {}.examples ALTER COLUMN vector_crc TYPE numeric",
    "CREATE INDEX more ON {}.examples (lower(label))",
    "CREATE FUNCTION public.order_{0}(text, text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0'; "
    "CREATE OPERATOR CLASS public.class_{0} FOR TYPE text USING btree AS OPERATOR 1 <, OPERATOR 3 =, "
    "FUNCTION 1 public.order_{0}(text, text); CREATE INDEX more ON {0}.examples (label public.class_{0})",
    "CREATE INDEX more ON {}.examples USING hash (label)",
    "CREATE STATISTICS public.more_{0} ON (lower(label)) FROM {0}.examples",
    "CREATE STATISTICS {0}.more ON label, source FROM {0}.examples",
    "CREATE POLICY more ON {}.examples USING (true)",
    "CREATE DOMAIN {}.more AS bigint CHECK (value > 0)",
    "CREATE TYPE {}.more AS ENUM ('a', 'b')",
    "CREATE OPERATOR {}.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq)",
    "CREATE COLLATION {}.more (provider = libc, locale = 'C')",
    "ALTER TABLE {0}.examples ADD UNIQUE (id); CREATE TABLE public.other_{0} (id bigint REFERENCES {0}.examples (id))",
    "CREATE TABLE public.child{0} () INHERITS ({0}.vectors)",
    "CREATE TYPE public.t_{0} AS (v text); CREATE TABLE {0}.coordinates_x (id bigint, place public.t_{0})",
    "CREATE DOMAIN public.vector_{0} AS bigint; CREATE TABLE {0}.coordinates_x (id public.vector_{0})",
    "CREATE TABLE {}.coordinates_x (id bigint, more bigint)",
    "DROP TABLE {}.thumbnails",
    "DELETE FROM {}.about",
    "UPDATE {}.about SET version = 99",
]


@pytest.mark.parametrize("statement", FOREIGN)
def test_a_schema_with_something_else_in_it_is_refused(birds: str, statement: str) -> None:
    run(birds, statement)
    with pytest.raises(FileError):
        Gallery.open(birds)
    assert not verify(birds).sound


def test_what_runs_nothing_in_a_gallery_is_allowed_beside_it(birds: str) -> None:
    run(
        birds,
        "CREATE VIEW public.view_{0} AS SELECT label FROM {0}.examples; "
        "CREATE PUBLICATION p_{0} FOR TABLE {0}.history; "
        "ALTER DEFAULT PRIVILEGES IN SCHEMA {0} GRANT SELECT ON TABLES TO public; COMMENT ON TABLE {0}.examples IS 'x'",
    )
    assert verify(birds).sound


def test_a_schema_that_is_no_gallery_is_neither_opened_nor_overwritten(postgres_address: str) -> None:
    run(postgres_address, "CREATE SCHEMA {0}; CREATE TABLE {0}.mine (id bigint)")
    with pytest.raises(FileError, match="not a kcrc gallery"):
        Gallery.open(postgres_address)
    with pytest.raises(FileError, match="not a kcrc gallery"):
        Gallery.create(postgres_address, dim=2, overwrite=True)
    run(postgres_address, "SELECT * FROM {}.mine")


DAMAGE = [
    "UPDATE {}.examples SET label = 'owl' WHERE id = 1",
    "UPDATE {}.examples SET removed_by = 1 WHERE id = 1",
    "DELETE FROM {}.examples WHERE id = 1",
    "DELETE FROM {}.vectors WHERE id = 1",
    "UPDATE {}.vectors SET data = set_byte(data, 0, 77)",
    "UPDATE {}.vectors SET data = data || data",
    "UPDATE {}.thumbnails SET data = set_byte(data, 5, 77)",
    "INSERT INTO {}.vectors VALUES (9, 'x')",
    "UPDATE {}.settings SET value = '7' WHERE key = 'revision'",
    "DELETE FROM {}.settings WHERE key = 'revision'",
    "DELETE FROM {}.seals",
    "DELETE FROM {}.history",
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_damage_is_found_and_never_another_value(birds: str, statement: str) -> None:
    run(birds, statement)
    assert not verify(birds).sound


def test_a_value_too_long_to_be_one_is_not_fetched(birds: str) -> None:
    run(birds, "UPDATE {}.examples SET label = repeat('x', 5000000) WHERE id = 1")
    with pytest.raises(FileError, match="is damaged"), Gallery.open(birds) as opened:
        _ = opened.counts


def test_a_user_who_may_only_read_reads_and_is_told_so(birds: str, postgres_server: PostgresServer) -> None:
    run(
        birds,
        "CREATE ROLE {0}_guest LOGIN; GRANT USAGE ON SCHEMA {0} TO {0}_guest; "
        "GRANT SELECT ON ALL TABLES IN SCHEMA {0} TO {0}_guest",
    )
    guest = birds.replace("postgres@", f"{parse(birds).schema}_guest@")
    with Gallery.open(guest, readonly=True) as opened:
        assert opened.counts == {"robin": 1, "wren": 1}
        assert opened.verify().sound
    with Gallery.open(guest) as opened, pytest.raises(StateError, match="does not allow that"):
        opened.remove([1])
    with pytest.raises(StateError, match="does not allow that"):
        Gallery.create(f"{guest}2", dim=2)


def test_a_forked_process_neither_uses_nor_closes_what_it_inherits(birds: str) -> None:
    with Gallery.open(birds) as opened:
        assert len(opened) == 2
        child = os.fork()
        if child == 0:
            code = 1
            try:
                opened.counts  # noqa: B018
            except StateError as refused:
                code = 0 if "forked" in str(refused) else 2
            finally:
                opened.close()
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert opened.relabel([1], "owl") == (1,)


def test_nothing_stays_connected_after_close(birds: str) -> None:
    def connected() -> int:
        with psycopg.connect(**parse(birds).connection) as db:  # type: ignore[arg-type]
            query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'kcrc' AND query LIKE %s"
            return int(db.execute(query, (f"%{parse(birds).schema}%",)).fetchone()[0])  # type: ignore[index]

    with Gallery.open(birds) as opened:
        threads = [threading.Thread(target=lambda: opened.counts) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert connected() <= 4
    for _ in range(100):
        if not connected():
            break
    assert connected() == 0


def test_a_change_within_a_look_or_a_change_is_refused(birds: str) -> None:
    with Gallery.open(birds) as opened:
        with pytest.raises(StateError, match="by this thread"):
            opened.read(lambda _: opened.remove([1]))
        with pytest.raises(StateError, match="by this thread"):
            opened.store.write(lambda _: opened.remove([1]))
        assert len(opened) == 2


def test_a_gallery_that_was_replaced_is_said_to_be(birds: str) -> None:
    with Gallery.open(birds) as opened:
        Gallery.create(birds, dim=3, overwrite=True).close()
        with pytest.raises(StateError, match="replaced by another"):
            opened.remove([1])
        with pytest.raises(StateError, match="replaced by another"):
            opened.read(lambda reading: reading.settings())
        run(birds, "DROP SCHEMA {} CASCADE")
        with pytest.raises(StateError, match="not there any more"):
            opened.read(lambda reading: reading.settings())


def test_an_older_version_is_brought_up_to_date_in_one_transaction(birds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(db: object, name: str) -> None:
        db.execute(f"DROP TABLE {name}.thumbnails")  # type: ignore[attr-defined]
        raise FileError("broken step")

    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setitem(schema.STEPS, 1, broken)
    with pytest.raises(FileError, match="broken step"):
        Gallery.open(birds)
    with pytest.raises(WriteNeeded):
        Gallery.open(birds, readonly=True)
    steps: list[str] = []
    monkeypatch.setitem(schema.STEPS, 1, lambda db, name: steps.append(name))
    for _ in range(2):
        with Gallery.open(birds) as opened:
            assert len(opened) == 2
    assert steps == [parse(birds).schema]


def test_what_a_killed_process_was_making_is_swept(postgres_address: str, postgres_server: PostgresServer) -> None:
    source = f"""
import os
from kcrc.gallery import building
with building({postgres_address!r}, dim=2) as made:
    made.add("wren", [[1, 2]])
    os.kill(os.getpid(), 9)
"""

    def passing() -> int:
        with psycopg.connect(postgres_server.address()) as db:
            query = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'kcrcnew%'"
            return int(db.execute(query).fetchone()[0])  # type: ignore[index]

    before = passing()
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == -9
    assert not postgres.exists(postgres_address)
    assert passing() == before + 1
    for _ in range(50):  # until the server notices that the process is gone
        Gallery.create(postgres_address, dim=2, overwrite=True).close()
        if passing() == before:
            break
    assert passing() == before


SECRET = "Zaunkoenig77"


def test_what_was_erased_is_in_no_file_of_the_tables(postgres_server: PostgresServer, postgres_address: str) -> None:
    """The files of the database, as the server has them on the disk; its log (pg_wal) is not the gallery's."""
    vector = np.array([[1.2345e12, -7.654e-9]], np.float32)
    traces = [SECRET.encode(), vector.tobytes(), small_picture(3)[-40:]]

    def found() -> list[bool]:
        with psycopg.connect(postgres_server.address(), autocommit=True) as db:
            db.execute("CHECKPOINT")
        files = [path.read_bytes() for path in (postgres_server.data / "base").rglob("*") if path.is_file()]
        return [any(trace in data for data in files) for trace in traces]

    with Gallery.create(postgres_address, dim=2) as made:
        made.add(["wren", "robin"], [[1, 2], [3, 4]])
        made.add(SECRET, vector, sources=[f"{SECRET}.jpg"], thumbnails=[small_picture(3)])
        made.relabel([3], "owl")
        made.relabel([3], SECRET)
        run(postgres_address, "ANALYZE")
        assert found() == [True, True, True]
        assert made.erase([3]).ids == (3,)
        assert found() == [False, False, False]
        assert made.counts == {"robin": 1, "wren": 1}
        assert made.verify().sound


def test_examples_that_took_part_in_tuning_are_erased(postgres_address: str) -> None:
    rng = np.random.default_rng(0)
    with Gallery.create(postgres_address, dim=2) as made:
        made.add(["wren"] * 10 + ["robin"] * 10, rng.normal(0, 1, (20, 2)) + np.repeat([[0, 0], [9, 9]], 10, axis=0))
        made.tune(parameters={"n_neighbors": 3})
        assert made.erase([3]).retune
        assert made.verify().sound


def test_an_eraser_waits_for_whoever_reads(birds: str) -> None:
    with Gallery.open(birds) as reader, Gallery.open(birds) as writer:
        thread = threading.Thread(target=lambda: writer.erase([1]))

        def look(reading: object) -> None:
            thread.start()
            thread.join(0.3)
            assert len(reader.contents) == 2
            assert reader.store.vectors(reader.contents).shape == (2, 2)

        reader.read(look)
        thread.join()
        assert len(reader) == 1


def test_only_what_is_new_is_fetched(birds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from kcrc.gallery.stores.records import RecordSnapshot

    fetched: list[int] = []
    real = RecordSnapshot.fill_vectors
    monkeypatch.setattr(
        RecordSnapshot, "fill_vectors", lambda t, ids, c, out: fetched.append(len(ids)) or real(t, ids, c, out)
    )
    with Gallery.open(birds) as opened:
        opened.vectors()
        opened.add(["owl"], [[5, 6]])
        np.testing.assert_array_equal(opened.vectors()[1], [[1, 2], [3, 4], [5, 6]])
        opened.remove([2])
        np.testing.assert_array_equal(opened.vectors()[1], [[1, 2], [5, 6]])
        opened.undo()
        np.testing.assert_array_equal(opened.vectors()[1], [[1, 2], [3, 4], [5, 6]])
        opened.erase([1])
        np.testing.assert_array_equal(opened.vectors()[1], [[3, 4], [5, 6]])
    assert fetched == [2, 1, 0, 1, 2]


NAMES = ["", "Birds", "1st", "a-b", 'a"b', "a;b", "x" * 49, "a%20b", "ä", "../b"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_cannot_be_one_are_refused(postgres_server: PostgresServer, name: str) -> None:
    with pytest.raises(FileError, match="cannot be the name of a gallery"):
        Gallery.open(f"{postgres_server.address()}&gallery={name}")


def test_galleries_of_several_names_are_apart(postgres_server: PostgresServer) -> None:
    usual = postgres_server.address()
    other = postgres_server.address(gallery="other")
    with Gallery.create(usual, dim=2) as one, Gallery.create(other, dim=3) as two:
        one.add("wren", [[1, 2]])
        assert (one.name, two.name) == ("gallery", "other")
        assert (len(one), len(two)) == (1, 0)
    with pytest.raises(FileError, match="several galleries"):
        Gallery.open(f"{other}&gallery=more")


def test_without_the_package_a_sentence_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ModuleNotFoundError('No module named psycopg', name='psycopg')")
    source = "from kcrc.gallery import Gallery; Gallery.open('postgresql://localhost/birds')"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", source], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == (
        "kcrc.errors.StateError: Galleries at 'postgresql://' need the extra 'postgres': pip install 'kcrc[postgres]'."
    )


def test_a_server_that_is_not_there_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcrc.gallery.stores.postgres.connections.PATIENCE", 0.2)
    with pytest.raises(KCRCError, match="cannot be reached"):
        Gallery.open(f"postgresql://postgres@/birds?host={tmp_path}")
