from __future__ import annotations

import re
import sys

import pytest

from kcrc._base.progress import count_bar, leader_bar, share_bar


def test_a_bar_is_shown_on_wish_only(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (None, False):  # stderr is no terminal here
        with count_bar("things", 2, unit=" things", show=show) as bar, share_bar("work", show=show) as report:
            bar.update(2)
            report(1.0)
    assert capsys.readouterr().err == ""
    with count_bar("things", 2, unit=" things", show=True) as bar:
        bar.update(2)
    assert "2/2" in capsys.readouterr().err


def test_a_share_moves_the_bar_forward_only(capsys: pytest.CaptureFixture[str]) -> None:
    with share_bar("work", show=True) as report:
        for share in (0.5, 0.25, 1.0):
            report(share)
    shown = capsys.readouterr().err
    assert "work" in shown
    assert "100 %" in shown


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_who_leads_fits_into_a_line(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tqdm.std._screen_shape_wrapper", lambda: lambda file: (columns, 24))
    with leader_bar("choosing looks", show=True) as report:
        report(0.25, "shapes leads, 93.1%")
        report(0.5, "a look that has a very long name and more than that leads, 93.1%")
    lines = [line for line in re.split("[\r\n]", capsys.readouterr().err) if line.strip()]
    assert lines
    assert all(len(line) <= columns for line in lines)
    assert any(" 50 %, a look" in line for line in lines)
    assert any("…" in line for line in lines) is (columns < 100)


def test_short_work_shows_nothing_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with share_bar("work") as report, count_bar("things", 2, unit=" things") as bar:
        report(1.0)
        bar.update(2)
    assert "work" not in capsys.readouterr().err


def test_the_time_left_goes_by_the_pace_of_the_whole_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a burst of quick steps, as one chunk of a batch makes them, it does not jump to nothing."""
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with count_bar("things", 100, unit=" things", show=True, mininterval=0, miniters=1) as bar:
        now[0] = 40.0
        bar.update(40)
        for _ in range(10):
            now[0] += 0.01
            bar.update(1)
        left = re.search(r"<(\d+):(\d+)", str(bar))
    assert left is not None
    assert 35 <= 60 * int(left[1]) + int(left[2]) <= 45  # 50 things, at 50 in 40 seconds


def test_what_is_prepared_has_no_pace(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    monkeypatch.setattr("kcrc._base.progress.time.time", lambda: now[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with share_bar("work") as report:
        for now[0] in (1.5, 3.0, 30.0):
            report(0.0)
        assert "0 %, about ? left" in capsys.readouterr().err
        now[0] = 40.0
        report(0.5)
        assert "50 %, about 00:10 left" in capsys.readouterr().err


def test_a_share_says_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with share_bar("work", show=True) as report:
        report(0.5)
    assert re.search(r"50 %, about \d+:\d+ left", capsys.readouterr().err)
