"""What a hostile picture may cost: some seconds and some memory of a worker, and nothing else."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest
from PIL import Image

from images.features import hostile_images as hostile
from images.features import odd_files as odd
from kcrc.errors import KCRCError
from kcrc.images.decoding import decoder
from kcrc.images.decoding.reading import ImageError, decode, read_many
from kcrc.images.decoding.resizing import View

VIEW = View((64, 64))
GOOD = odd.saved(odd.noise("RGB", (60, 40)), "PNG")


@pytest.fixture
def one_second(monkeypatch):
    monkeypatch.setenv("KCRC_IMAGE_SECONDS", "1")


def many_strips(strips: int) -> bytes:
    """A TIFF whose strips all lie at the same place."""
    rows = zlib.compress(bytes(1))
    more = [odd.long(273, *[8] * strips), odd.long(279, *[len(rows)] * strips), odd.short(259, 8), odd.long(278, 1)]
    tags = [odd.long(256, 1), odd.long(257, strips), odd.short(258, 8), odd.short(262, 1), odd.short(277, 1), *more]
    return odd.tiff(sorted(tags), rows)


def many_frames(frames: int) -> bytes:
    """An animated WebP whose frames are all the same."""
    still = odd.saved(Image.new("RGB", (1, 1)), "WEBP", lossless=True)
    frame = bytes(16) + still[12:]
    head = (b"VP8X", b"\x02\0\0\0" + bytes(6)), (b"ANIM", bytes(6))
    return odd.riff(*head, *[(b"ANMF", frame)] * frames)


HOSTILE = {
    "scans behind a marker": lambda: odd.hidden_scans(0x01, 5000, side=12_000),
    "scans behind another marker": lambda: odd.hidden_scans(0x02, 5000, side=12_000, restart=1000),
    "scans": lambda: odd.many_scans(12_000, 3000),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.usefixtures("one_second")
def test_a_picture_that_takes_too_long_is_ended(name):
    with pytest.raises(ImageError, match=r"a\.jpg: takes more than (1 seconds|500 MB)") as caught:
        decode(HOSTILE[name](), VIEW, source="a.jpg")
    assert caught.value.kind == "too large"
    assert decode(GOOD, VIEW).pixels.shape == (64, 64, 3)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda: many_strips(1_000_000), id="a TIFF of a million strips"),
        pytest.param(lambda: many_frames(100_000), id="a WebP of many frames"),
        pytest.param(lambda: odd.gif(65_535, 65_535), id="a GIF of 65535 x 65535"),
        pytest.param(lambda: odd.png(5, 4, b"", before=[odd.chunk(b"tEXt", b"a\0b") * 300_000]), id="a PNG of chunks"),
        pytest.param(lambda: odd.gif(3, 1, b"!\xfe\0" * 1_500_000), id="a GIF of blocks"),
    ],
)
@pytest.mark.usefixtures("one_second")
def test_a_picture_of_many_parts_is_read_or_refused(content):
    problems: list[str] = []
    try:
        decode(content(), VIEW)
    except ImageError as problem:
        problems.append(problem.kind)
    assert set(problems) <= {"too large", "broken"}
    assert decode(GOOD, VIEW).pixels.shape == (64, 64, 3)


def test_a_picture_that_takes_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setenv("KCRC_IMAGE_MEMORY", "20M")
    content = odd.flat_png(4000, 4000)
    with pytest.raises(ImageError, match="takes more than 20 MB of memory to decode") as caught:
        decode(content, VIEW)
    assert caught.value.kind == "too large"
    assert decode(GOOD, VIEW).pixels.shape == (64, 64, 3)
    monkeypatch.setenv("KCRC_IMAGE_MEMORY", "200M")
    assert decode(content, VIEW).pixels.shape == (64, 64, 3)


def test_a_large_canvas_of_a_webp_is_too_large_not_broken():
    """Its decoder makes room for the whole canvas before it looks at anything else."""
    canvas = struct.pack("<I", 16_382)[:3] * 2
    with pytest.raises(ImageError) as caught:
        decode(odd.riff((b"VP8X", bytes(4) + canvas), (b"VP8L", b"\x2f" + bytes(20))), VIEW)
    assert caught.value.kind in ("too large", "broken")


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_hostile_pictures_leave_every_worker_below_600_mb():
    def peak(process: int) -> int:
        status = Path(f"/proc/{process}/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])

    box, peaks = decoder._workers(()), []
    for number, (name, content) in enumerate(hostile.hostile_images(17, 150)):
        with contextlib.suppress(KCRCError):
            decode(content, View() if number % 2 else VIEW, source=name)
        peaks += [peak(worker.pid) for worker in box._idle if worker.is_usable]
    assert 0 < max(peaks) < 600_000_000


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
def test_a_worker_that_is_killed_costs_one_picture_and_one_sentence(tmp_path):
    """Killed while it decodes; the others go on, and a new one takes its place."""
    slow = odd.hidden_scans(0x01, 5000, side=12_000)
    for number in range(12):
        (tmp_path / f"{number:02}.jpg").write_bytes(slow if number == 5 else GOOD)
    box, killed = decoder._workers(()), []

    def kill() -> None:
        from kcrc.files import box as boxes

        deadline = time.monotonic() + 20
        while not killed and time.monotonic() < deadline:
            busy = [worker for worker in list(boxes._clock._due) if worker.is_slowed]
            for worker in busy[:1]:
                os.kill(worker.pid, signal.SIGKILL)
                killed.append(worker.pid)
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    found = read_many(sorted(tmp_path.iterdir()), VIEW, on_error="skip", threads=2)
    thread.join()
    assert len(killed) == 1
    assert len(found.pictures) == 11
    (problem,) = found.problems
    assert str(problem).endswith("05.jpg: could not be decoded: its worker was ended (SIGKILL).")
    assert problem.kind == "broken"
    assert killed[0] not in [worker.pid for worker in box._idle]
