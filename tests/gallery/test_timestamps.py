"""Clocks that are wrong, and forged times: a gallery opens all the same, and says what it does not know."""

from __future__ import annotations

import datetime
import json
import sqlite3
import time
from pathlib import Path

import pytest

from gallery.forged_files import reseal
from kcrc.cli import main
from kcrc.gallery import Gallery, verify
from kcrc.gallery.history import format_moment, moment

LEAST, MOST = -(1 << 63), (1 << 63) - 1
YEAR = 365 * 86_400 * 1_000_000_000


@pytest.mark.parametrize(
    ("stored", "iso"),
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (-1, "1969-12-31T23:59:59.999999+00:00"),
        (1_700_000_000_123_456, "2023-11-14T22:13:20.123456+00:00"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00+00:00"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_a_moment_is_exact(stored: int, iso: str) -> None:
    assert moment(stored) == datetime.datetime.fromisoformat(iso)


@pytest.mark.parametrize("stored", [LEAST, MOST, -62_135_596_800_000_001, 253_402_300_800_000_000, 10**400, -(10**400)])
def test_what_no_calendar_has_is_unknown(stored: int) -> None:
    assert moment(stored) is None
    assert format_moment(moment(stored)) == "unknown"


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone is set the POSIX way")
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Niue"])
def test_the_ends_of_the_calendar_can_be_shown_everywhere(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    for stored in (-62_135_596_800_000_000, 253_402_300_799_999_999, 0, -1):
        assert format_moment(moment(stored))
    monkeypatch.undo()
    time.tzset()


def _all_of(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Everything that reads a time, in Python and on the command line; what was printed."""
    assert verify(path).problems == ()
    with Gallery.open(path) as gallery:
        gallery.history()
        assert [gallery.contents.example(at).added_at for at in range(len(gallery))] == [
            gallery.example(i).added_at for i in gallery.contents.ids.tolist()
        ]
        gallery.export(path.with_suffix(".npz"))
    capsys.readouterr()
    for arguments in (["info"], ["info", "--json"], ["history"], ["verify"]):
        assert main([arguments[0], str(path), *arguments[1:]]) == 0
    assert main(["import", str(path.with_name("again.kcrc")), str(path.with_suffix(".npz"))]) == 0
    out = capsys.readouterr()
    assert out.err == ""
    return out.out


@pytest.mark.parametrize("nanoseconds", [-1, -30 * YEAR, 10_000 * YEAR, LEAST, MOST, 10**27, -(10**27)])
def test_a_gallery_made_by_a_wrong_clock_can_be_used_ever_after(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], nanoseconds: int
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds)
    with Gallery.create(path, dim=2) as made:
        made.add(["a", "b"], [[1, 2], [3, 4]])
        made.remove([2])
        made.undo()
    monkeypatch.undo()
    said = _all_of(path, capsys)
    if nanoseconds == -30 * YEAR:
        assert "1940-01-0" in said
    with Gallery.open(path) as gallery:
        gallery.add("c", [[5, 6]])
        assert gallery.undo().summary == "added 1 example of c"


@pytest.mark.parametrize("value", [LEAST, -1, MOST])
def test_any_stored_time_opens(gallery: Gallery, path: Path, capsys: pytest.CaptureFixture[str], value: int) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE examples SET added_at = ?", (value,))
        db.execute("UPDATE history SET at = ?", (value,))
        db.execute("UPDATE settings SET value = ? WHERE key = 'created_at'", (json.dumps(value),))
        reseal(db)
    db.close()
    said = _all_of(path, capsys)
    assert ("unknown" in said) is (value != -1)
    assert ('"created": null' in said) is (value != -1)
