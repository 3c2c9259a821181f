"""Answers for many, into one file: the same by every engine, from every kind of input, written once, gone on with."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from photos import folder
from processes import alive, tree

from kcrc.cli import main
from kcrc.errors import DataError, ParameterError, StateError
from kcrc.files.box import Worker
from kcrc.gallery import Gallery
from kcrc.scale.engines.local import Local
from kcrc.scale.scoring import inputs
from kcrc.scale.scoring.inputs import Input, read_input
from kcrc.scale.scoring.job import Job
from kcrc.scale.scoring.scorer import Question, Scorer, close_gallery
from kcrc.scale.sharded import fingerprint, shards_of_gallery

WIDTH, QUERIES = 5, 300


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a gallery of vectors, queries in every kind of table, and the answers of one process."""
    where = tmp_path_factory.mktemp("scoring")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = np.float32(y[:, None] + rng.standard_normal((200, WIDTH)))
    with Gallery.create(where / "g.kcrc", dim=WIDTH) as gallery:
        gallery.add([f"class {c}" for c in y], X)
        gallery.answering.use_default_parameters()
    queries = np.float32(rng.integers(0, 3, (QUERIES, 1)) + rng.standard_normal((QUERIES, WIDTH)))
    np.save(where / "q.npy", queries)
    names = [f"q.npy#{i}" for i in range(QUERIES)]
    lines = [",".join([name, *map(repr, map(float, row))]) for name, row in zip(names, queries, strict=True)]
    (where / "q.csv").write_text("\n".join([",".join(["name", *"abcde"]), *lines]) + "\n")
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"name": names, "vector": list(queries)})
    pyarrow.parquet.write_table(table, where / "q.parquet", row_group_size=110)
    return where


@pytest.fixture
def home(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to work in, with pieces of 40 rows."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inputs, "ROWS", 40)
    yield tmp_path
    close_gallery()


@pytest.fixture
def kcrc(home, capsys):
    def call(*arguments: str) -> tuple[int, str]:
        code = main(list(arguments))
        return code, capsys.readouterr().err

    return call


def answers(path: Path | str = "a.csv") -> str:
    return Path(path).read_text()


def scorer(question: Question, threads: int | None = 1, shards=None) -> Scorer:
    with Gallery.open("g.kcrc", readonly=True) as gallery:
        known = fingerprint(gallery)
    return Scorer(str(Path("g.kcrc").absolute()), known, question, os.getcwd(), threads, None, shards)


def test_every_engine_with_and_without_shards_writes_the_same_file(engine, home) -> None:
    assert main(["predict", "g.kcrc", "q.npy", "--out", "one.csv"]) == 0
    for name, shards in (("whole.csv", None), ("shards.csv", 3)):
        split = None if shards is None else shards_of_gallery(engine, "g.kcrc", shards)
        job = Job(Path(name), Input(tables=("q.npy",)), scorer(Question(name), engine.threads, split))
        job.begin(resume=False)
        done: list[int] = []
        assert job.run(engine, done.append).answers == QUERIES
        assert sum(done) == QUERIES
        close_gallery()
        assert answers(name) == answers("one.csv")


def test_every_kind_of_table_gives_the_same_answers(kcrc) -> None:
    for name in ("q.npy", "q.csv", "q.parquet"):
        assert kcrc("predict", "g.kcrc", name, "--out", f"{name}.csv") == (0, f"300 answers in {name}.csv.\n")
        assert not Path(f"{name}.csv.parts").exists()
        assert answers(f"{name}.csv") == answers("q.npy.csv")
    lines = answers("q.npy.csv").splitlines()
    assert lines[0] == "image,label,probability,unknown,best,margin,runner_up,how,why"
    assert [line.partition(",")[0] for line in lines[1:]] == [f"q.npy#{i}" for i in range(QUERIES)]


def test_a_row_group_is_not_read_whole(home, monkeypatch) -> None:
    """It may hold a million rows; what a piece wants of it is read in batches no larger than a piece."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table("q.parquet")
    pyarrow.parquet.write_table(table, "one.parquet", row_group_size=QUERIES)
    real, sizes = Worker.ask, []

    def ask(self, *given, **more):
        head, content = real(self, *given, **more)
        sizes.append(head.get("bytes", 0))
        return head, content

    monkeypatch.setattr(Worker, "ask", ask)
    read = [piece.read(".") for piece in inputs.ranges("one.parquet")]
    np.testing.assert_array_equal(np.concatenate([one.vectors for one in read]), np.load("q.npy"))
    assert [len(one) for one in read] == [40] * 7 + [20]
    assert max(sizes) == 40 * read[0].vectors.shape[1] * 4


def test_every_form_of_answers_says_the_same(kcrc) -> None:
    import pyarrow.parquet

    options = ["--top", "2"]
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        assert kcrc("predict", "g.kcrc", "q.npy", "--out", name, *options)[0] == 0
    rows = [json.loads(line) for line in answers("a.jsonl").splitlines()]
    table = pyarrow.parquet.read_table("a.parquet").to_pylist()
    assert len(rows) == len(table) == QUERIES
    assert [row["top"][1]["probability"] for row in rows] == [row["top_2_probability"] for row in table]
    for name in ("image", "label", "probability", "margin", "how"):
        assert [row[name] for row in rows] == [row[name] for row in table]
    assert list(table[0]) == answers().splitlines()[0].split(",")


def test_images_are_answered_as_predict_answers_them(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inputs, "IMAGES", 3)
    folder(tmp_path / "photos", 4)
    Path("photos/broken.jpg").write_bytes(b"no picture")
    assert main(["build", "photos", "-o", "g.kcrc", "-f", "pixels", "--no-tune"]) == 0
    pictures = sorted(map(str, Path("photos").rglob("*.jpg")))
    Path("list.txt").write_text("\n".join(pictures))
    capsys.readouterr()
    assert main(["predict", "g.kcrc", *pictures, "--csv"]) == 1
    told = capsys.readouterr()
    for number, given in enumerate((pictures, ["list.txt"], ["file://" + str(tmp_path / "photos")])):
        assert main(["predict", "g.kcrc", *given, "--out", f"{number}.csv"]) == 1
        said = capsys.readouterr().err
        assert "broken.jpg: " in said
        text = answers(f"{number}.csv").replace(f"file://{tmp_path}/", "")
        assert sorted(text.splitlines()) == sorted(told.out.splitlines())
    close_gallery()


def test_images_keep_the_names_and_the_order_they_are_given_in(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "photos", 3)
    assert main(["build", "photos", "-o", "g.kcrc", "-f", "pixels", "--no-tune"]) == 0
    listed, whole, bare, again = sorted(map(str, Path("photos").rglob("*.jpg")))[:4]
    Path("list.txt").write_text(f"{listed}\n")
    given = ["list.txt", str(tmp_path / whole), bare, f"./{again}"]
    assert main(["predict", "g.kcrc", *given, "--out", "a.csv"]) == 0
    close_gallery()
    names = [line.partition(",")[0] for line in answers().splitlines()[1:]]
    assert names == [listed, *given[1:]]
    capsys.readouterr()
    assert main(["predict", "g.kcrc", listed, *given[1:], "--csv"]) == 0
    assert capsys.readouterr().out == answers()


def test_object_stores_are_read_where_fsspec_is(kcrc, monkeypatch) -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    system.pipe("/in/q.npy", Path("q.npy").read_bytes())
    assert kcrc("predict", "g.kcrc", "q.npy", "--out", "here.csv")[0] == 0
    assert kcrc("predict", "g.kcrc", "memory://in/q.npy", "--out", "there.csv")[0] == 0
    assert answers("there.csv").replace("memory://in/", "") == answers("here.csv")
    system.rm("/in", recursive=True)
    assert kcrc("predict", "g.kcrc", "memory://in/q.npy", "--out", "no.csv") == (
        1,
        "kcrc: 'memory://in/q.npy' is not there.\n",
    )
    with monkeypatch.context() as missing:  # the package for this kind of address
        missing.setattr(fsspec.core, "url_to_fs", Mock(side_effect=ImportError("Install s3fs to access S3")))
        code, said = kcrc("predict", "g.kcrc", "s3://bucket/q.npy", "--out", "no.csv")
        assert (code, "Install s3fs" in said) == (1, True)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    code, said = kcrc("predict", "g.kcrc", "memory://in/q.npy", "--out", "no.csv")
    assert (code, "pip install 'kcrc[remote]'" in said) == (1, True)


@pytest.mark.parametrize("name", ["a.png", "a.npy"])
def test_an_address_that_cannot_be_read_is_said_in_words(kcrc, name) -> None:
    Path("not.zip").write_bytes(b"no archive")
    for address, code, reason in (
        (f"zip://{name}::not.zip", 1, "File is not a zip file."),
        (f"zip://{name}::missing.zip", 1, "is not there."),
        ("dir://q.npy", 1, "'dir://q.npy' cannot be read: "),
        ("dir://pictures", 1, "'dir://pictures' cannot be read: "),
        ("reference://x", 2, "missing 1 required positional argument"),
        ("data://x.npy", 1, "not enough values"),
    ):
        ended, said = kcrc("predict", "g.kcrc", address, "--out", "no.csv")
        assert (ended, reason in said, address in said) == (code, True, True), said


def test_a_list_is_read_in_bounds_and_never_from_a_pipe(home, monkeypatch) -> None:
    os.mkfifo("pipe.txt")
    with pytest.raises(DataError, match=r"pipe\.txt cannot be read: it is not a regular file"):
        read_input(["pipe.txt"], list)
    Path("hole.txt").touch()
    os.truncate("hole.txt", 8_000_000_000)
    with pytest.raises(DataError, match=r"'hole\.txt' has more than 1073741824 bytes; give it in parts"):
        read_input(["hole.txt"], list)
    os.truncate("hole.txt", 100_000_000)
    with pytest.raises(DataError, match=r"'hole\.txt' has a line of more than 65536 bytes"):
        read_input(["hole.txt"], list)
    with pytest.raises(DataError, match=r"'none\.txt' cannot be read: No such file"):
        read_input(["none.txt"], list)
    monkeypatch.setattr(inputs, "LIST_LINES", 3)
    Path("list.txt").write_bytes(b"a.jpg\r\n\nb c.jpg")
    assert read_input(["list.txt"], list).images == ("a.jpg", "b c.jpg")
    Path("list.txt").write_bytes(b"a.jpg\n\n\n\n")
    with pytest.raises(DataError, match="or more than 3 lines"):
        read_input(["list.txt"], list)


def test_an_error_before_any_answer_leaves_nothing_in_the_way(kcrc, monkeypatch) -> None:
    np.save("in.npy", np.zeros((5, WIDTH + 1), np.float32))
    code, said = kcrc("predict", "g.kcrc", "in.npy", "--out", "a.csv")
    assert (code, said) == (1, "kcrc: in.npy must hold vectors of 5 numbers, as the gallery does; got 6.\n")
    assert list(Path().glob("a.csv*")) == []
    np.save("in.npy", np.zeros((5, WIDTH), np.float32))
    with monkeypatch.context() as patched:
        patched.setattr(Scorer, "__call__", interrupted)
        code, said = kcrc("predict", "g.kcrc", "in.npy", "--out", "a.csv")
    assert (code, said) == (130, "\nkcrc: interrupted; nothing was answered yet, and nothing is left.\n")
    assert list(Path().glob("a.csv*")) == []
    assert kcrc("predict", "g.kcrc", "in.npy", "--out", "a.csv") == (0, "5 answers in a.csv.\n")


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_cannot_be_asked_is_said(kcrc) -> None:
    Path("list.txt").write_text("https://example.org/1.jpg\n")
    with pytest.raises(DataError, match="only the command line names addresses elsewhere"):
        read_input(["list.txt"], list)
    with pytest.raises(DataError, match="both images and tables"):
        read_input(["q.npy", "a.jpg"], list)
    with pytest.raises(ParameterError, match=r"written to .csv, .jsonl, .parquet; got 'a.txt'"):
        Job(Path("a.txt"), Input(tables=("q.npy",)), scorer(Question("a.txt")))
    for name, content, reason in (
        ("cut.npy", Path("q.npy").read_bytes()[:-4], "is cut off"),
        ("odd.npy", b"no array at all", "cannot be read"),
        ("odd.parquet", b"no table", "cannot be read"),
    ):
        Path(name).write_bytes(content)
        code, said = kcrc("predict", "g.kcrc", name, "--out", "no.csv")
        assert (code, reason in said) == (1, True)
        shutil.rmtree("no.csv.parts", ignore_errors=True)
    np.save("nan.npy", np.full((50, WIDTH), np.nan))
    assert "row 0 (counted from 0)" in kcrc("predict", "g.kcrc", "nan.npy", "--out", "no.csv")[1]
    assert kcrc("predict", "g.kcrc", "q.npy", "--resume")[0] == 2
    assert kcrc("predict", "g.kcrc", "q.npy", "--out", "a.csv", "--json")[0] == 2


def broken_off(job: Job, engine, pieces: int) -> None:
    """Run a job until so many pieces are written, and no further."""

    def report(_: int) -> None:
        nonlocal pieces
        pieces -= 1
        if not pieces:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(engine, report)


def test_a_run_that_was_cut_short_goes_on_and_answers_nothing_twice(engine, home) -> None:
    assert main(["predict", "g.kcrc", "q.npy", "--out", "one.csv"]) == 0
    given, work = Input(tables=("q.npy",)), scorer(Question("a.csv"), engine.threads)
    first = Job(Path("a.csv"), given, work)
    first.begin(resume=False)
    broken_off(first, engine, 3)
    written = {path: path.stat().st_mtime_ns for path in Path("a.csv.parts").glob("*.part")}
    assert len(written) == 3
    assert not Path("a.csv").exists()
    with pytest.raises(StateError, match="Go on with --resume"):
        Job(Path("a.csv"), given, work).begin(resume=False)
    again = Job(Path("a.csv"), given, work)
    again.begin(resume=True)
    outcome = again.run(engine, lambda _: None)
    assert (outcome.answers, outcome.reused) == (QUERIES, 3)
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert answers("a.csv") == answers("one.csv")
    close_gallery()


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[: len(whole) // 2], lambda whole: whole[:-1] + b"?", bytes.upper]
)
def test_a_part_that_is_not_whole_is_made_again(home, damage) -> None:
    assert main(["predict", "g.kcrc", "q.npy", "--out", "one.csv"]) == 0
    given, work = Input(tables=("q.npy",)), scorer(Question("a.csv"))
    first = Job(Path("a.csv"), given, work)
    first.begin(resume=False)
    broken_off(first, Local(), 3)
    part = sorted(Path("a.csv.parts").glob("*.part"))[1]
    part.write_bytes(damage(part.read_bytes()))
    again = Job(Path("a.csv"), given, work)
    again.begin(resume=True)
    outcome = again.run(Local(), lambda _: None)
    assert (outcome.answers, outcome.reused) == (QUERIES, 2)
    assert answers("a.csv") == answers("one.csv")
    close_gallery()


def test_a_name_that_leads_nowhere_is_taken_all_the_same(kcrc) -> None:
    """Before anything is answered, not after."""
    Path("a.csv").symlink_to("nowhere.csv")
    code, said = kcrc("predict", "g.kcrc", "q.npy", "--out", "a.csv")
    assert (code, "is there already" in said) == (1, True)
    assert not Path("a.csv.parts").exists()


@pytest.mark.parametrize("what", ["gallery", "input", "options"])
def test_a_run_does_not_go_on_with_something_else(kcrc, what) -> None:
    job = Job(Path("a.csv"), Input(tables=("q.npy",)), scorer(Question("a.csv"), None))
    job.begin(resume=False)
    broken_off(job, Local(), 2)
    close_gallery()
    options = ["--top", "2"] if what == "options" else []
    if what == "gallery":
        with Gallery.open("g.kcrc") as gallery:
            gallery.relabel([1], "class 9")
    elif what == "input":
        np.save("q.npy", np.load("q.npy") + 1)
    code, said = kcrc("predict", "g.kcrc", "q.npy", "--out", "a.csv", "--resume", *options)
    assert code == 1
    reason = "it was begun with other options" if what == "options" else f"the {what} was changed since it was begun"
    assert said == f"kcrc: This run cannot go on: {reason}. Remove 'a.csv.parts' to begin again, or put things back.\n"
    assert len(list(Path("a.csv.parts").glob("*.part"))) == 2


def test_a_gallery_that_changes_under_a_run_ends_it(home) -> None:
    work = scorer(Question("a.csv"))
    with Gallery.open("g.kcrc") as gallery:
        gallery.relabel([1], "class 9")
    piece = next(Input(tables=("q.npy",)).pieces())
    with pytest.raises(StateError, match="was changed while it was answering"):
        work(piece)


def turned_to_zeros(name: str, rows: int) -> None:
    """Another table in the place of one, as a program that writes it anew puts it there."""
    np.save("other.npy", np.zeros((rows, WIDTH), np.float32))
    os.replace("other.npy", name)


@pytest.mark.parametrize("rows", [QUERIES, QUERIES - 30, QUERIES + 30])
def test_a_table_that_changes_under_a_run_ends_it(home, rows) -> None:
    job = Job(Path("a.csv"), Input(tables=("q.npy",)), scorer(Question("a.csv"), None))
    job.begin(resume=False)
    with pytest.raises(DataError, match=r"q\.npy was changed while it was being answered"):
        job.run(Local(), lambda _: turned_to_zeros("q.npy", rows))
    assert not Path("a.csv").exists()
    assert len(list(Path("a.csv.parts").glob("*.part"))) == 1


@pytest.mark.parametrize("name", ["q.npy", "q.csv", "q.parquet"])
def test_answers_of_an_input_that_changed_are_not_joined(home, name) -> None:
    """After its last rows were read, where no reading finds it."""
    job = Job(Path("a.csv"), Input(tables=(name,)), scorer(Question("a.csv"), None))
    job.begin(resume=False)
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if done == QUERIES:
            turned_to_zeros(name, QUERIES)

    with pytest.raises(StateError, match="The input was changed while it was being answered"):
        job.run(Local(), report)
    assert not Path("a.csv").exists()
    assert not Path("a.csv.parts").exists()


def test_a_short_read_is_no_piece(home) -> None:
    piece = next(inputs.ranges("q.npy"))
    turned_to_zeros("q.npy", len(piece) - 1)
    with pytest.raises(DataError, match=r"q\.npy was changed"):
        inputs.RowRange("q.npy", 0, len(piece)).read(".")


def test_a_part_of_another_number_of_answers_is_made_again(home) -> None:
    """As of a run that was begun when pieces had other bounds."""
    given, work = Input(tables=("q.npy",)), scorer(Question("a.csv"), None)
    first = Job(Path("a.csv"), given, work)
    first.begin(resume=False)
    broken_off(first, Local(), 8)
    parts = sorted(Path("a.csv.parts").glob("*.part"))
    shutil.copy(parts[7], parts[2])
    again = Job(Path("a.csv"), given, work)
    again.begin(resume=True)
    outcome = again.run(Local(), lambda _: None)
    assert (outcome.answers, outcome.reused) == (QUERIES, 7)


CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from kcrc.cli import main
from kcrc.scale.scoring import inputs
inputs.ROWS = 2
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("options", "sign", "code"),
    [
        ([], signal.SIGKILL, -signal.SIGKILL),
        ([], signal.SIGINT, 130),
        (["--engine", "ray", "--workers", "1"], signal.SIGINT, 130),
    ],
)
def test_a_killed_command_leaves_whole_parts_and_no_process(home, monkeypatch, options, sign, code) -> None:
    np.save("q.npy", np.tile(np.load("q.npy"), (10, 1)))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    command = ["predict", "g.kcrc", "q.npy", "--out", "a.csv"]
    child = subprocess.Popen([sys.executable, "-c", CHILD, *command, *options], stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while time.monotonic() < until and len(list(Path("a.csv.parts").glob("*.part"))) < 20 and child.poll() is None:
        time.sleep(0.01)
    started = tree(child.pid)
    child.send_signal(sign)
    ended = child.wait(60)
    said = child.stderr.read().decode()
    child.stderr.close()
    assert ended == code, said
    assert ("the same command with --resume goes on" in said) == (sign == signal.SIGINT)
    assert 20 <= len(list(Path("a.csv.parts").glob("*.part"))) < 1500
    while time.monotonic() < until and any(map(alive, started)):
        time.sleep(0.05)
    assert not any(map(alive, started))
    monkeypatch.setattr(inputs, "ROWS", 2)
    job = Job(Path("a.csv"), Input(tables=("q.npy",)), scorer(Question("a.csv"), None))
    job.begin(resume=True)
    outcome = job.run(Local(), lambda _: None)
    assert outcome.answers == 10 * QUERIES
    assert outcome.reused >= 20
    names = [line.partition(",")[0] for line in answers().splitlines()[1:]]
    assert names == [f"q.npy#{i}" for i in range(10 * QUERIES)]


KILLED = """
import os, signal, sys
from kcrc.cli import main
from kcrc.scale.scoring import inputs, job, scorer

inputs.ROWS = 40
where = sys.argv.pop(1)
written = 0


def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def counted(real):
    def call(path, part):
        global written
        if where == "before the first part":
            killed()
        if where == "inside a part" and written == 3:
            os.fsync = killed
        real(path, part)
        written += 1
        if where == "between parts" and written == 3:
            killed()
    return call


def half(parts):
    for number, part in enumerate(parts):
        if number == 4:
            killed()
        yield part


def cut(real):
    return lambda self, parts, out: real(self, half(parts), out)


job._write = counted(job._write)
if where == "before the join":
    job.Job._join = killed
if where == "inside the join":
    scorer.Csv.join, scorer.Parquet.join = cut(scorer.Csv.join), cut(scorer.Parquet.join)
if where == "after the join":
    job.Job.clear = killed
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("out", ["a.csv", "a.parquet"])
@pytest.mark.parametrize(
    ("where", "parts"),
    [
        ("before the first part", 0),
        ("between parts", 3),
        ("inside a part", 3),
        ("before the join", 8),
        ("inside the join", 8),
    ],
)
def test_a_command_that_is_killed_anywhere_is_gone_on_with(kcrc, monkeypatch, where, parts, out) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    assert kcrc("predict", "g.kcrc", "q.npy", "--out", f"one{Path(out).suffix}")[0] == 0
    command = ["predict", "g.kcrc", "q.npy", "--out", out]
    child = subprocess.run([sys.executable, "-c", KILLED, where, *command], capture_output=True, timeout=60)
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert not Path(out).exists()
    assert len(list(Path(f"{out}.parts").glob("*.part"))) == parts
    again = f", {parts} parts of them from before" if parts else ""
    assert kcrc(*command, "--resume") == (0, f"300 answers in {out}{again}.\n")
    assert Path(out).read_bytes() == Path(f"one{Path(out).suffix}").read_bytes()
    assert [str(path) for path in Path().glob(f"{out}*")] == [out]


def test_a_command_that_is_killed_after_the_join_has_written_all(kcrc, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    assert kcrc("predict", "g.kcrc", "q.npy", "--out", "one.csv")[0] == 0
    command = ["predict", "g.kcrc", "q.npy", "--out", "a.csv"]
    child = subprocess.run([sys.executable, "-c", KILLED, "after the join", *command], capture_output=True, timeout=60)
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert answers("a.csv") == answers("one.csv")
    assert "is there already" in kcrc(*command, "--resume")[1]
    assert answers("a.csv") == answers("one.csv")
