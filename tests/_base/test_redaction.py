"""Passwords of addresses are in nothing that is shown."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcrc._base.redaction import ServerAddress, without_secrets
from kcrc.cli import main
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery
from kcrc.scale.sharded import StoredShard, reachable
from lab.bench.postgres_server import PostgresServer

PASSWORD = "Gehe1m:n/s?s@x"
QUOTED = "Gehe1m%3An%2Fs%3Fs%40x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:Gehe1m@h/db", "postgresql://u:***@h/db"),
        ("see postgresql://u:Ge@he1m@h:5/db?gallery=x, please", "see postgresql://u:***@h:5/db?gallery=x, please"),
        ("postgresql://u@h/db?password=Gehe1m&gallery=x", "postgresql://u@h/db?password=***&gallery=x"),
        ("host=h password='Ge he1m' user=u", "host=h password=*** user=u"),
        ("sslpassword=Gehe1m", "sslpassword=***"),
        ("postgresql://u:not he1m@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:tab\the1m\n@h/db", "postgresql://u:***@h/db"),
        ("postgresql://a user:he1m@h/db", "postgresql://a user:***@h/db"),
        ("postgresql://u@h/db?password=it's he1m&gallery=x", "postgresql://u@h/db?password=***&gallery=x"),
        ("postgresql://u@h/db?gallery=x&sslpassword='he1m", "postgresql://u@h/db?gallery=x&sslpassword=***"),
        ("password=it'she1m user=u", "password=*** user=u"),
        ("postgresql://u:he1m@a/db to postgresql://v:he1m@b/db", "postgresql://u:***@b/db"),
        ("postgresql://u:a@he1m postgresql://he1m@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:he1m@he1m 'postgresql://he1m:he1m@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:5 postgresql://he1m@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u@v:5/a postgresql://he1m@h/db", "postgresql://u@v:***@h/db"),
        ("postgresql://h/db?password=a postgresql://he1m", "postgresql://h/db?password=***"),
        ("postgresql://h/db?some_new_option=a postgresql://he1m", "postgresql://h/db?some_new_option=***"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("birds.kcrc", "birds.kcrc"),
        ("https://example.org/a:b", "https://example.org/a:b"),
        ("postgresql://bob@azure:he1m@127.0.0.1/db", "postgresql://bob@azure:***@127.0.0.1/db"),
        ("postgresql://u:a://he1m@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:postgresql://he1m@h/db", "postgresql://u:***@h/db"),
        ("postgresql://u:a postgresql://he1m@h/db", "postgresql://u:***@h/db"),
        ("postgresql://us/er:he1m@h/db", "postgresql://us/er:***@h/db"),
        ("postgresql://us?er:he1m@h/db?gallery=x", "postgresql://us?er:***@h/db?gallery=x"),
        ("postgresql://u:he1m/db", "postgresql://u:***"),
        ("postgresql://h/db?oauth_client_secret=he1m", "postgresql://h/db?oauth_client_secret=***"),
        ("postgresql://h/db?scram_client_key=he1m&port=5", "postgresql://h/db?scram_client_key=***&port=5"),
        ("postgresql://h/db?pass%77ord=he1m", "postgresql://h/db?pass%77ord=***"),
        ("postgresql://h/db?gallery=x&some_new_option=he1m", "postgresql://h/db?gallery=x&some_new_option=***"),
        ("host=h scram_client_key=he1m user=u", "host=h scram_client_key=*** user=u"),
        ("postgresql:/u:he1m@h/db", "postgresql:/u:***@h/db"),
        ("postgresql:u:he1m@h/db", "postgresql:u:***@h/db"),
        ("Postgres:/u:he1m@h/db", "Postgres:/u:***@h/db"),
        ("postgresql/u:he1m@h/db", "postgresql/u:***@h/db"),
        ("postgresql:\\\\u:he1m@h/db", "postgresql:\\\\u:***@h/db"),
        ("no gallery 'postgresql:/u:not he1m@h/db' here", "no gallery 'postgresql:/u:***@h/db' here"),
        ("postgresql:/u@h/db?password=he1m", "postgresql:/u@h/db?password=***"),
        ("postgresql:u:he1m", "postgresql:u:***"),
        ("the user postgres: refused, see help@h", "the user postgres: refused, see help@h"),
        ("/srv/postgres/birds.kcrc", "/srv/postgres/birds.kcrc"),
        ("postgresql://u@h:5/db, postgresql://[::1]:5/db", "postgresql://u@h:5/db, postgresql://[::1]:5/db"),
        ("at http://127.0.0.1:8391/?code=abc", "at http://127.0.0.1:8391/?code=abc"),
        ("the server of 'postgresql://u@h/db' is away. Is it?", "the server of 'postgresql://u@h/db' is away. Is it?"),
    ],
)
def test_passwords_are_hidden_wherever_they_stand(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert f"{ServerAddress(text)}" == str(ServerAddress(text)) == shown
    assert "he1m" not in repr(ServerAddress(text))
    assert ServerAddress(text) == text  # whoever connects has it whole


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u@a/db to postgresql://v@b:5/db",
        "postgresql://u:***@a:5/db to postgresql://v:***@b/db?port=5, not postgresql://w@c/db",
        "'postgresql://a/db?gallery=x' to 'postgresql://v:***@b/db'",
    ],
)
def test_addresses_that_show_no_password_stay_as_they_are_side_by_side(text: str) -> None:
    assert without_secrets(text) == text


def test_one_address_is_never_read_as_two() -> None:
    assert str(ServerAddress("postgresql://u:***@a postgresql://he1m@h/db")) == "postgresql://u:***@h/db"
    with pytest.raises(KCRCError, match=r"u:\*\*\*@127\.0\.0\.1/db") as caught:
        Gallery.open("postgresql://u:***@a postgresql://he1m@127.0.0.1/db")
    assert "he1m" not in str(caught.value)


PIECES = [*":/@?&=%#'\"\\ ,;[]\t", "://", "password=", "5432", "https://", " postgresql://", "he1m"]
AWKWARD = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(user=AWKWARD, before=AWKWARD, after=AWKWARD, option=st.sampled_from(["", "?gallery=x", "?sslmode=allow&port=5"]))
def test_no_password_of_awkward_characters_is_shown(user: str, before: str, after: str, option: str) -> None:
    user, secret = user.replace("he1m", ""), f"{before}Gehe1m{after}"
    for text in (
        f"postgresql://{user}:{secret}@h.example/db{option}",
        f"The server of 'postgresql://{user}:{secret}@h.example/db{option}' is away.",
        f"postgresql://u@h.example/db?pass%77ord={secret.replace('&', '')}",
    ):
        shown = without_secrets(text)
        assert "he1m" not in shown, shown
        assert "postgresql://" in shown
        assert "he1m" not in without_secrets(shown)


def test_work_that_goes_to_other_processes_does_not_show_it() -> None:
    shard = StoredShard(reachable("postgresql://u:he1m@h/db"), "", 0, 1)
    for one in (shard, pickle.loads(pickle.dumps(shard))):
        assert "u:***@h/db" in repr(one)
        assert "".join(one.address) == "postgresql://u:he1m@h/db"


def addressed(server: PostgresServer, name: str) -> str:
    return server.address(gallery=name).replace("postgres@", f"postgres:{QUOTED}@")


def test_nothing_of_a_gallery_shows_its_password(
    postgres_server: PostgresServer,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    caplog.set_level(logging.DEBUG)
    address = addressed(postgres_server, "secretive")
    shown: list[str] = []
    with Gallery.create(address, dim=2) as made:
        made.add(["wren", "robin"], [[1, 2], [3, 4]])
        shown += [repr(made), repr(made.store), str(made.path), made.name, repr(vars(made.store))]
    for command in (
        ["info"],
        ["info", "--json"],
        ["verify"],
        ["history"],
        ["list"],
        ["list", "--json"],
        ["show", "1"],
        ["relabel", "1", "owl"],
        ["undo"],
        ["export", str(tmp_path / "out.npz")],
        ["backup", str(tmp_path / "copy.kcrc")],
        ["remove", "99"],
        ["evaluate", str(tmp_path)],
        ["predict", str(tmp_path / "none.jpg")],
        ["list", "--html", str(tmp_path / "list.html")],
        ["compact"],
    ):
        main([command[0], address, *command[1:]])
        main(["--debug", command[0], f"{address}2", *command[1:]])
    main(["build", str(tmp_path), "-o", address])
    shown += [*capsys.readouterr(), caplog.text]
    shown += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert "secretive" in "".join(shown)
    assert "Gehe1m" not in "".join(shown)


def test_an_address_that_cannot_be_used_does_not_show_its_password(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("kcrc.gallery.stores.postgres.connections.PATIENCE", 0.1)
    for address in (
        f"postgresql://u:{QUOTED}@/db?host={tmp_path}",
        f"postgresql://u:{PASSWORD}@/db?host={tmp_path}",
        f"postgresql://u:{QUOTED}@/db?host={tmp_path}&sslmode=nonsense",
        f"postgresql://u:{QUOTED}@/db?host={tmp_path}&nonsense=1",
        f"postgresql://u:{QUOTED}@/db?host={tmp_path}&connect_timeout=soon",
        f"postgresql://u@/db?host={tmp_path}&password={QUOTED}&port=x",
        f"postgresql://u:{QUOTED}@h/db?gallery=password={QUOTED}",
        f"nowhere://u:{QUOTED}@h/db",
    ):
        with pytest.raises(KCRCError) as caught:
            Gallery.open(address)
        told = "".join(traceback.format_exception(caught.value))
        assert "he1m" not in "".join(line for line in told.splitlines() if "Gallery.open" not in line), told


@pytest.mark.parametrize(
    ("address", "match"),
    [
        ("postgresql://bob@azure:he1m@127.0.0.1/db", "%40 for '@'"),
        ("postgresql://u:a@he1m@127.0.0.1/db", "%40 for '@'"),
        ("postgresql://u:he1m/he1m@127.0.0.1/db", "%2F for '/'"),
        ("postgresql://us/er:he1m@127.0.0.1/db", "%2F for '/'"),
        ("postgresql://u:a://he1m@127.0.0.1/db", "%2F for '/'"),
        ("postgresql://u:he1m/db", "a port that is no number"),
        ("postgresql://127.0.0.1:1/db?sslmode=nonsense", "its option 'sslmode'"),
        ("postgresql://127.0.0.1:1/db?keepalives=nonsense", "its option 'keepalives'"),
        ("postgresql://127.0.0.1:99999/db", "its option 'port'"),
        ("postgresql://127.0.0.1:1/db?connect_timeout=soon", "one of its options"),
        ("postgresql://127.0.0.1:1/db?scram_client_key=he1m", "one of its options"),
        ("postgresql://127.0.0.1:1/db?port=1,2", "one of its options"),
    ],
)
def test_an_address_that_no_server_can_have_is_not_waited_for(
    address: str, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcrc.gallery.stores.postgres.connections.Retries.wait", lambda *_, **__: pytest.fail("waited"))
    with pytest.raises(KCRCError, match=match) as caught:
        Gallery.open(address)
    assert "he1m" not in str(caught.value)


@pytest.mark.parametrize("address", ["postgresql:/u:he1m@h/db", "postgresql:u:he1m@h/db", "Postgres:/u:he1m@h/db"])
def test_an_address_with_too_few_slashes_is_no_file_and_does_not_show_its_password(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["info"], ["--debug", "info"], ["verify"], ["list", "--json"], ["build", ".", "-o"]):
        assert main([*command, address]) != 0
    shown = "".join(capsys.readouterr())
    assert "begins with 'postgresql://'" in shown
    assert ":***@h/db" in shown
    assert "he1m" not in shown
    for one in (address, Path(address), Path("postgresql://u:he1m@h/db")):  # which pathlib leaves one slash
        with pytest.raises(KCRCError, match=r"begins with 'postgresql://'") as caught:
            Gallery.create(one, dim=2)
        assert "he1m" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", ["", "?user=a@b", "?host=@none.here"])
def test_a_server_that_is_away_is_waited_for(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcrc.gallery.stores.postgres.connections.PATIENCE", 0.1)
    with pytest.raises(KCRCError, match="cannot be reached"):
        Gallery.open(f"postgresql://127.0.0.1:1/db{options}")


def test_a_server_that_refuses_the_password_does_not_show_it(postgres_server: PostgresServer) -> None:
    address = addressed(postgres_server, "any").replace("postgres:", "nobody_here:")
    with pytest.raises(KCRCError, match="does not let us in") as caught:
        Gallery.open(address)
    assert "Gehe1m" not in str(caught.value)
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from kcrc.cli import main; sys.exit(main())", "--debug", "info", address],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert "does not let us in" in done.stderr
    assert "Gehe1m" not in done.stdout + done.stderr
