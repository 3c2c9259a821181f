from __future__ import annotations

import sys

import pytest

from kcrc.progress import count_bar, share_bar


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


def test_short_work_shows_nothing_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with share_bar("work") as report, count_bar("things", 2, unit=" things") as bar:
        report(1.0)
        bar.update(2)
    assert "work" not in capsys.readouterr().err
