from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from photos import photo
from PIL import Image

from kcrc.cli import COMMANDS, main
from kcrc.gallery import Gallery

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def birds(home: Path) -> Path:
    return home


@pytest.fixture
def run(kcrc: Run) -> Run:
    return kcrc


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from kcrc.cli import main; code = main(['--help'])\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'PIL', 'tqdm', 'sqlite3'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy or code else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "kcrc build photos/ -o birds.kcrc" in done.stdout


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Usage: kcrc {command}" in capsys.readouterr().out


def test_every_command_is_in_the_documentation() -> None:
    root = Path(__file__).resolve().parents[2]
    text = "".join(path.read_text() for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))))
    named = set(re.findall(r"kcrc ([a-z]+)", text)) | set(re.findall(r"\| ([a-z]+)", text))
    assert set(COMMANDS) <= named


def test_the_three_commands(run, birds: Path) -> None:
    code, out, err = run("predict", "birds.kcrc", "test/wren/50.jpg", "test/heron/50.jpg")
    assert code == 0
    assert [line.split("\t")[:2] for line in out.splitlines()] == [
        ["test/wren/50.jpg", "wren"],
        ["test/heron/50.jpg", "heron"],
    ]
    assert err == ""
    code, out, err = run("explain", "birds.kcrc", "test/wren/50.jpg", "--html", "why.html", "--png", "why.png")
    assert code == 0
    assert "wren" in out.splitlines()[0]
    assert (birds / "why.html").read_text().count("<img") > 2  # the query and those that decided
    assert (birds / "why.png").read_bytes().startswith(b"\x89PNG")


def test_the_shares_that_explain_an_answer_are_100_percent(run) -> None:
    said = json.loads(run("explain", "birds.kcrc", "test/wren/50.jpg", "--json")[1])
    shares = [one["share"] for one in said["neighbours"]]
    assert sum(map(abs, shares)) == pytest.approx(1.0)
    assert any(shares)
    _, out, _ = run("explain", "birds.kcrc", "test/wren/50.jpg", "--top", "2")
    assert said["sentence"] in out
    listed = re.findall(r"^ +([+-][\d.]+)%  ", out, re.MULTILINE)
    rest = re.search(rf"  {len(shares) - 2} more: ([\d.]+)% for the answer, ([\d.]+)% against it", out)
    assert len(listed) == 2
    assert rest is not None
    assert sum(abs(float(share)) for share in (*listed, *rest.groups())) == pytest.approx(100.0, abs=0.3)


def test_predict_as_json_and_csv(run) -> None:
    _, out, _ = run("predict", "birds.kcrc", "test/wren", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["label"] for row in rows] == ["wren", "wren"]
    keys = ["image", "label", "probability", "unknown", "best", "margin", "runner_up", "how", "why", "probabilities"]
    assert list(rows[0]) == keys
    assert (rows[0]["unknown"], rows[0]["best"], rows[0]["why"]) == (False, "wren", None)
    assert max(rows[0]["probabilities"].values()) == rows[0]["probability"] == rows[0]["probabilities"]["wren"]
    _, out, _ = run("predict", "birds.kcrc", "test/*/50.jpg", "--csv")
    table = list(csv.DictReader(io.StringIO(out)))
    assert [row["label"] for row in table] == ["heron", "robin", "wren"]


def test_unknown_and_sets(run, birds: Path) -> None:
    owl = str(photo(birds / "q.jpg", "owl", 9))
    for arguments in (["--reject", "0.2", owl], [owl, "--reject=0.2"]):
        said = run("predict", "birds.kcrc", *arguments)[1]
        assert said.startswith(f"{owl}\tunknown\t-\tit resembles no class: ")
    assert run("predict", "birds.kcrc", "--reject", "0.2", "--mark", "?", owl)[1].startswith(f"{owl}\t?\t-\tit ")
    for arguments in (["--reject", owl, "--set", "test/wren/50.jpg"], [owl, "test/wren/50.jpg", "--set", "--reject"]):
        code, out, err = run("predict", "birds.kcrc", *arguments, "--json")
        assert (code, err) == (0, "")
        first, second = (json.loads(line) for line in out.splitlines())
        assert first["unknown"] is (first["label"] == "unknown")
        assert second["label"] == second["best"] == "wren"
        assert set(second["set"]) <= {"heron", "robin", "wren"}
    _, out, _ = run("predict", "birds.kcrc", owl, "test/wren/50.jpg", "--csv", "--reject", "0.2", "--set", "0.5")
    table = list(csv.DictReader(io.StringIO(out)))
    assert [row["unknown"] for row in table] == ["true", "false"]
    assert table[0]["best"] in {"heron", "robin", "wren"}
    assert list(table[0])[:6] == ["image", "label", "probability", "unknown", "best", "set"]
    line = run("predict", "birds.kcrc", "test/wren/50.jpg", "--set", "0.9")[1].rstrip("\n").split("\t")
    assert len(line) == 4


def test_it_is_unknown_of_what_nothing_can_be_said(run, birds: Path) -> None:
    Image.fromarray(np.full((48, 64, 3), 90, np.uint8)).save("grey.png")
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)).save("noise.png")
    for name, why in (("grey.png", "it is all one colour"), ("noise.png", "it looks like noise")):
        for asked in ([], ["--reject", "0.01"]):
            assert run("predict", "birds.kcrc", name, *asked)[:2] == (
                0,
                f"{name}\tunknown\t-\tit resembles no example: {why}\n",
            )
        said = json.loads(run("predict", "birds.kcrc", name, "--json")[1])
        assert (said["unknown"], said["why"]) == (True, f"it resembles no example: {why}")
        assert said["best"] in {"heron", "robin", "wren"}
        _, out, _ = run("explain", "birds.kcrc", name)
        assert out.startswith(f"{name}: unknown\nIt resembles no example: {why}. The class that comes nearest is ")
        explained = json.loads(run("explain", "birds.kcrc", name, "--json")[1])
        assert (explained["label"], explained["best"], explained["why"]) == ("unknown", said["best"], said["why"])


def test_one_class_alone_is_told_from_nothing(run, birds: Path) -> None:
    for number in range(10):
        photo(birds / "one" / "wren" / f"{number}.jpg", "wren", number)
    _, out, err = run("build", "one", "-o", "one.kcrc", "-f", "pixels")
    assert "there is only one class, so nothing can be told apart yet: add another with 'kcrc add'" in err
    assert "100" not in err
    why = "there is only one class, wren, so nothing can be told apart"
    assert run("predict", "one.kcrc", "test/wren/50.jpg")[1] == f"test/wren/50.jpg\tunknown\t-\t{why}\n"
    said = json.loads(run("predict", "one.kcrc", "test/wren/50.jpg", "--json")[1])
    assert (said["best"], said["probability"], said["probabilities"]) == ("wren", None, {})
    found = run("predict", "one.kcrc", "test/wren/50.jpg", "test/robin/50.jpg", "--reject", "0.1")[1].splitlines()
    assert found[0] == "test/wren/50.jpg\twren\t-"
    assert found[1].startswith("test/robin/50.jpg\tunknown\t-\tit resembles no class: ")
    _, out, _ = run("explain", "one.kcrc", "test/wren/50.jpg")
    assert out.startswith("test/wren/50.jpg: unknown\nThere is only one class, wren, so nothing can be told apart. ")
    assert "Probability" not in out
    assert run("evaluate", "one.kcrc", "test")[1].startswith("2 of 2 images are answered right")


def test_images_that_are_not_like_the_examples_are_told_of(run, birds: Path) -> None:
    for number in range(24):
        photo(birds / "owls" / "wren" / f"{number}.jpg", "owl", number)
    code, out, err = run("predict", "birds.kcrc", "owls", "--json")
    assert code == 0
    assert len(out.splitlines()) == 24
    assert len(err.splitlines()) == 1
    assert "These 24 pictures differ from your examples" in err
    assert "wren" in err.rpartition("Look at these first")[2]
    code, out, err = run("evaluate", "birds.kcrc", "owls", "--json")
    assert "These 24 pictures differ from your examples" in err
    assert json.loads(out)["likeness"]["alarm"] is True
    code, out, err = run("evaluate", "birds.kcrc", "test", "--json")  # fewer than 20
    assert json.loads(out)["likeness"] is None
    assert err == ""


def test_advise(run, birds: Path) -> None:
    code, out, err = run("advise", "birds.kcrc")
    assert (code, err) == (0, "")
    assert "examples are answered right by the others" in out
    assert all(name in out for name in ("wren", "robin", "heron"))
    code, out, _ = run("advise", "birds.kcrc", "test", "--count", "2")
    assert code == 0
    assert "Label next:" in out
    found = json.loads(run("advise", "birds.kcrc", "test", "--count", "2", "--json")[1])
    assert all(Path(row["image"]).exists() for row in found["label_next"])
    assert {row["name"] for row in found["classes"]} == {"wren", "robin", "heron"}
    (birds / "test" / "broken.jpg").write_bytes(b"no picture")
    code, _, err = run("advise", "birds.kcrc", "test", "--json")
    assert code == 1
    assert "broken.jpg" in err


def test_audit(run, birds: Path) -> None:
    code, out, _ = run("audit", "birds.kcrc")
    assert code == 0
    assert "No example contradicts its label" in out
    assert run("relabel", "birds.kcrc", "photos/wren/3.jpg", "--label", "robin")[0] == 0
    code, out, err = run("audit", "birds.kcrc", "--html", "audit.html", "--top", "1")
    assert code == 0
    assert re.search(r"#16 photos/wren/3\.jpg: labelled robin, answered wren", out)
    assert err == "wrote audit.html\n"
    page = (birds / "audit.html").read_text()
    assert "kcrc relabel birds.kcrc 16 --label wren" in re.sub(r"<[^>]+>", "", page)
    assert page.count("<img") >= 4
    found = json.loads(run("audit", "birds.kcrc", "--json")[1])
    assert found["findings"][0]["example"] == 16
    assert found["findings"][0]["because"][0]["source"].startswith("photos/wren/")
    table = list(csv.DictReader(io.StringIO(run("audit", "birds.kcrc", "--csv")[1])))
    assert [row["example"] for row in table] == [str(f["example"]) for f in found["findings"]]
    assert (table[0]["finding"], table[0]["answer"]) == ("mislabelled", "wren")


def test_audit_says_who_could_not_be_asked(run, birds: Path) -> None:
    assert run("relabel", "birds.kcrc", "16", "--label", "owl")[0] == 0
    _, out, _ = run("audit", "birds.kcrc", "--html", "audit.html")
    told = "1 example could not be asked: alone in its class"
    assert re.match(r"\d+ of 17 examples \(.*\) are answered as they are labelled", out)
    assert told in out
    assert "labelled owl" not in out
    assert told in (birds / "audit.html").read_text()
    assert json.loads(run("audit", "birds.kcrc", "--json")[1])["alone"] == 1


def test_one_class_is_not_called_all_right(run, birds: Path) -> None:
    for number in range(6):
        photo(birds / "one" / "wren" / f"{number}.jpg", "wren", number)
    assert run("build", "one", "-o", "one.kcrc", "-f", "pixels")[0] == 0
    for more in ([], ["test"]):
        code, out, err = run("evaluate", "one.kcrc", *more, "--html", "evaluation.html")
        assert code == 0
        assert "With one class nothing can be told apart yet" in out
        assert "Of new pictures like these" not in out
        for told in (err, (birds / "evaluation.html").read_text()):
            assert "only one class, wren, so nothing can be told apart yet" in told
    code, out, _ = run("audit", "one.kcrc", "--html", "audit.html")
    assert code == 0
    assert out.startswith("There is only one class, so nothing can be told apart yet: store examples of another.\n")
    assert "No example could be asked yet." in (birds / "audit.html").read_text()


def test_info_and_tune_agree_where_there_is_nothing_to_choose(run, birds: Path) -> None:
    for name in ("wren", "robin"):
        photo(birds / "single" / name / "1.jpg", name, 1)
    assert run("build", "single", "-o", "single.kcrc", "-f", "pixels")[0] == 0
    for _ in range(2):
        said = run("info", "single.kcrc")[1]
        assert "settings    nothing to choose: all is fixed, or no class has two examples\n" in said
        assert "nothing to choose: all is fixed, or no class has two examples" in run("tune", "single.kcrc")[2]


def test_help_fits_into_a_terminal_of_80_columns(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = run("help", "export")[1]
    assert "label-studio  tasks" in out
    assert max(map(len, out.splitlines())) <= 80


def test_names_come_on_stdin(run, monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"test/wren/50.jpg\ntest/robin/50.jpg\n", b"test/wren/50.jpg\0test/robin/50.jpg\0"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code, out, _ = run("predict", "birds.kcrc", "-")
        assert code == 0
        assert [line.split("\t")[1] for line in out.splitlines()] == ["wren", "robin"]


def test_what_cannot_be_read_is_named_and_the_rest_answered(run, birds: Path) -> None:
    (birds / "bad.jpg").write_bytes(b"nothing")
    code, out, err = run("predict", "birds.kcrc", "bad.jpg", "test/wren/50.jpg", "none.jpg")
    assert code == 1
    assert len(out.splitlines()) == 1
    assert "bad.jpg" in err
    assert "none.jpg" in err


def test_corrections(run, birds: Path) -> None:
    owls = [str(photo(birds / "owls" / f"{i}.jpg", "owl", i)) for i in range(4)]
    query = str(photo(birds / "q.jpg", "owl", 9))
    code, out, _ = run("add", "birds.kcrc", "--label", "owl", *owls)
    assert (code, out) == (0, "added 4 of 4 as owl (examples 19–22)\n")
    assert "owl" in run("predict", "birds.kcrc", query)[1]
    code, out, err = run("add", "birds.kcrc", "--label", "owl", owls[0])
    assert "added 0 of 1" in out
    assert "1 in already, the same bytes" in err
    assert run("remove", "birds.kcrc", owls[1])[1] == "removed 1 (example 20)\n"
    assert run("remove", "birds.kcrc", "#19", "21", "owls/3.jpg")[1] == "removed 3 (examples 19, 21, 22)\n"
    assert run("undo", "birds.kcrc")[1] == "undid: removed 3 examples of owl\n"
    assert run("relabel", "birds.kcrc", "19", "--label", "barn owl")[1] == "relabelled 1 as barn owl (example 19)\n"
    assert run("rename", "birds.kcrc", "owl", "tawny owl")[0] == 0
    counts = json.loads(run("info", "birds.kcrc", "--json")[1])["classes"]
    assert counts == {"barn owl": 1, "heron": 6, "robin": 6, "tawny owl": 2, "wren": 6}
    assert run("remove", "birds.kcrc", "--label", "tawny owl")[1].startswith("removed 2")
    assert len(run("history", "birds.kcrc")[1].splitlines()) >= 6
    assert run("verify", "birds.kcrc")[1].startswith("birds.kcrc is sound: 19 examples")
    assert run("compact", "birds.kcrc")[1].startswith("dropped 3")


def test_evaluate(run, birds: Path) -> None:
    photo(birds / "test" / "heron" / "wrong.jpg", "wren", 70)
    code, out, _ = run("evaluate", "birds.kcrc", "test", "--html", "e.html", "--png", "e.png")
    assert code == 0
    assert out.startswith("6 of 7 images are answered right: 85.7%\n")
    assert re.search(r"wrong\.jpg: wren \(\S+%\) instead of heron", out)
    page = (birds / "e.html").read_text()
    assert "85.7% of 7 pictures right" in page
    assert "1 of class heron taken for wren" in page
    found = json.loads(run("evaluate", "birds.kcrc", "test", "--json")[1])
    assert found["confused"] == [{"times": 1, "class": "heron", "taken_for": "wren"}]


def test_what_it_runs_on(run) -> None:
    code, out, _ = run("info", "--system")
    assert code == 0
    assert re.search(r"^native +(avx2|portable|none): \w+", out, re.MULTILINE)
    said = json.loads(run("info", "--system", "--json")[1])
    assert said["numpy"] == np.__version__
    assert said["native"]["path"] in {"avx2", "portable", "none"}
    assert said["cores"] >= 1
    assert run("info")[0] == 2
    assert run("info", "birds.kcrc", "--system")[0] == 2


@pytest.mark.parametrize(
    ("wish", "native"), [("0", {"path": "none", "why": "switched off by KCRC_NATIVE=0"}), ("_native", None)]
)
def test_the_native_path_says_why(wish: str, native: dict[str, str] | None) -> None:
    program = "from kcrc.cli import main; main(['info', '--system', '--json'])"
    environment = os.environ | {"KCRC_NATIVE": wish}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    said = json.loads(done.stdout)["native"]
    if native is not None:
        assert said == native
    else:
        assert said["path"] != "avx2"
        assert "KCRC_NATIVE=_native" in said["why"] or said["why"].startswith("not built")


def test_export_and_import(run, birds: Path) -> None:
    assert run("export", "birds.kcrc", "birds.npz")[1] == "birds.npz: 18 examples\n"
    assert run("export", "birds.kcrc", "birds.npz")[0] == 1
    assert run("import", "again.kcrc", "birds.npz")[1] == "made again.kcrc with 18 examples\n"
    assert run("import", "again.kcrc", "birds.kcrc")[1] == "added 0 examples, 18 were there already\n"
    assert run("predict", "again.kcrc", "test/wren/50.jpg")[1].split("\t")[1] == "wren"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["pedict"], 2, "Did you mean 'predict'?"),
        (["predict", "birds.kcrc"], 2, "Missing argument"),
        (["predict", "none.kcrc", "test/wren/50.jpg"], 1, "There is no gallery"),
        (["predict", "photos/wren/0.jpg", "x.jpg"], 1, "not a kcrc gallery"),
        (["predict", "birds.kcrc", "no*match"], 1, "No file matches"),
        (["predict", "birds.kcrc", "test/wren/50.jpg", "--reject", "1.5"], 2, "not in the range"),
        (["predict", "birds.kcrc", "test/wren/50.jpg", "--set=nan"], 2, "between 0 and 1"),
        (["predict", "birds.kcrc", "test/wren/50.jpg", "--mark", "x"], 2, "give --reject too"),
        (["predict", "birds.kcrc", "test/wren/50.jpg", "--reject", "--mark", "wren"], 2, "also a class"),
        (["audit", "none.kcrc"], 1, "There is no gallery"),
        (["audit", "birds.kcrc", "--html", "none/x.html"], 1, "cannot be written"),
        (["build", "photos", "-o", "birds.kcrc", "-f", "pixels"], 1, "exists already"),
        (["backup", "birds.kcrc", "birds.kcrc"], 1, "exists already"),
        (["export", "birds.kcrc", "birds.kcrc"], 1, "exists already"),
        (["show", "birds.kcrc", "1", "--save", "birds.kcrc"], 1, "exists already"),
        (["build", "photos", "-o", "x.kcrc", "-f", "pixel"], 2, "Did you mean 'pixels'?"),
        (["build", "photos", "-o", "x.kcrc", "-f", "pixels", "--option", "nonsense=3"], 2, "has no option"),
        (["build", "photos", "-o", "x.kcrc", "-f", "vectors"], 2, "needs length="),
        (["build", "none", "-o", "x.kcrc", "-f", "pixels"], 1, "There is no 'none'"),
        (["remove", "birds.kcrc", "99"], 1, "no example 99"),
        (["remove", "birds.kcrc"], 1, "Say which examples"),
        (["remove", "birds.kcrc", "other.jpg"], 1, "not in the gallery"),
        (["rename", "birds.kcrc", "emu", "x"], 1, "no class 'emu'"),
        (["explain", "birds.kcrc", "test/wren/50.jpg", "--html", "none/x.html"], 1, "cannot be written"),
    ],
)
def test_errors_are_one_line_and_a_code(run, birds: Path, arguments: list[str], code: int, words: str) -> None:
    before = sorted(p.name for p in birds.iterdir())
    found, _, err = run(*arguments)
    assert found == code
    assert words in err
    assert "Traceback" not in err
    assert sorted(p.name for p in birds.iterdir() if p.name != ".kcrc-cache") == [
        name for name in before if name != ".kcrc-cache"
    ]


def test_nothing_to_undo_is_an_error_and_the_build_is_not_undone(run) -> None:
    assert run("remove", "birds.kcrc", "1")[0] == 0
    assert run("undo", "birds.kcrc")[0] == 0
    code, _, err = run("undo", "birds.kcrc")
    assert (code, err) == (1, "kcrc: There is nothing to undo since the gallery was built.\n")


def test_a_damaged_gallery_is_reported(run, birds: Path) -> None:
    data = bytearray((birds / "birds.kcrc").read_bytes())
    data[-5000:-4000] = b"\xaa" * 1000
    (birds / "birds.kcrc").write_bytes(bytes(data))
    code, out, err = run("verify", "birds.kcrc")
    assert code == 1
    assert "is damaged" in out
    assert err.startswith("kcrc: ")


def test_ctrl_c_in_a_build_leaves_nothing(run, birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kcrc.images.features.linear import Pixels

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Pixels, "transform", interrupted)
    before = sorted(p.name for p in birds.iterdir())
    code, _, err = run("build", "photos", "-o", "new.kcrc", "-f", "pixels")
    assert code == 130
    assert "interrupted" in err
    assert sorted(p.name for p in birds.iterdir()) == before


def test_names_cannot_reach_the_terminal_or_the_disk(run, birds: Path) -> None:
    evil = "\x1b[31m../../evil\n<script>"
    with Gallery.open("birds.kcrc") as gallery:
        gallery.rename_class("wren", evil)
    for arguments in (
        ["predict", "birds.kcrc", "test/wren/50.jpg"],
        ["explain", "birds.kcrc", "test/wren/50.jpg"],
        ["info", "birds.kcrc"],
        ["history", "birds.kcrc"],
        ["evaluate", "birds.kcrc"],
        ["predict", "birds.kcrc", "test/wren/50.jpg", "--set", "0.5", "--reject"],
        ["audit", "birds.kcrc"],
    ):
        if arguments[0] == "audit":
            run("relabel", "birds.kcrc", "photos/robin/1.jpg", "--label", evil)
        code, out, err = run(*arguments)
        assert code == 0
        assert "\x1b" not in out + err
        assert "\\x1b[31m../../evil\\n<script>" in out
    assert not list(birds.parent.glob("evil*"))


def test_a_formula_in_a_name_is_harmless_in_a_spreadsheet(run) -> None:
    with Gallery.open("birds.kcrc") as gallery:
        gallery.rename_class("wren", "=cmd()")
    _, out, _ = run("predict", "birds.kcrc", "test/wren/50.jpg", "--csv")
    assert ",'=cmd()," in out


def test_a_reader_that_goes_away_ends_it_quietly_and_costs_no_file(birds: Path) -> None:
    program = "import sys; from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"
    for command in (
        ["predict", "birds.kcrc", "test", "--json"],
        ["list", "birds.kcrc"],
        ["explain", "birds.kcrc", "test/wren/50.jpg"],
        ["audit", "birds.kcrc", "--html", "page.html"],
    ):
        read, write = os.pipe()
        os.close(read)
        arguments = [sys.executable, "-c", program, *command]
        done = subprocess.run(arguments, stdout=write, stderr=subprocess.PIPE, cwd=birds, timeout=60)
        os.close(write)
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert b"Broken" not in done.stderr
    assert (birds / "page.html").read_text().endswith("</html>\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.shell_completion.BashComplete._check_version", staticmethod(lambda: None))
    assert main(["completion", shell]) == 0
    assert "_KCRC_COMPLETE" in capsys.readouterr().out
