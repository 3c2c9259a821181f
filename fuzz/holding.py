"""``python -m fuzz.holding``: pictures made to hold a decoder for minutes, given to the command and to the server.

Each is refused, ended or read. Printed are the processor seconds of the command beyond a good picture (one that takes
long has no priority, so on a busy machine the clock says little), the seconds on the clock until the server answered,
and the longest that ``/api/health`` took meanwhile.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from fuzz.borrowed import from_tests
from fuzz.healthy import photo_gallery
from kcrc.gallery import Gallery

MOST, MOST_HEALTH = 5.0, 1.0  # seconds


def pictures() -> dict[str, Callable[[], bytes]]:
    odd = from_tests("images/features/odd_files.py")
    limits = from_tests("images/decoding/test_limits.py")
    return {
        "JPEG, scans behind FF 01": lambda: odd.hidden_scans(0x01, 4000, side=20_000),
        "JPEG, scans behind FF 02": lambda: odd.hidden_scans(0x02, 4000, side=12_000, restart=1000),
        "JPEG, scans behind FF 01, small": lambda: odd.hidden_scans(0x01, 1500, side=8000),
        "JPEG, scans in the open": lambda: odd.many_scans(12_000, 3000),
        "TIFF of a million strips": lambda: limits.many_strips(1_000_000),
        "WebP of 100,000 frames": lambda: limits.many_frames(100_000),
        "GIF of 65,535 x 65,535": lambda: odd.gif(65_535, 65_535),
        "PNG of 300,000 texts": lambda: odd.png(5, 4, b"", before=[odd.chunk(b"tEXt", b"a\0b") * 300_000]),
        "GIF of 1,500,000 blocks": lambda: odd.gif(3, 1, b"!\xfe\0" * 1_500_000),
    }


def in_command(gallery: Path, file: Path) -> tuple[float, str]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "kcrc", "predict", str(gallery), str(file)], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, (done.stderr.strip().splitlines() or [done.stdout.strip()])[0]


def in_server(port: int, content: bytes) -> tuple[float, int, list[float]]:
    """Seconds until the picture is answered, the status, and the seconds of each question after health meanwhile."""
    with (
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as other,
    ):
        answers: list[int] = []
        upload = threading.Thread(
            target=lambda: answers.append(client.post("/api/classify", content=content).status_code)
        )
        begun = time.perf_counter()
        upload.start()
        health: list[float] = []
        while upload.is_alive() or not health:
            asked = time.perf_counter()
            other.get("/api/health").raise_for_status()
            health.append(time.perf_counter() - asked)
            upload.join(0.02)
        return time.perf_counter() - begun, answers[0], health


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        gallery, photos = Path(folder) / "g.kcrc", Path(folder) / "photos"
        photo_gallery(gallery, photos, each=5)
        with Gallery.open(gallery) as opened:
            opened.answering.use_default_parameters()
        good = min(in_command(gallery, next(photos.rglob("*.jpg")))[0] for _ in range(3))
        command = [sys.executable, "-m", "kcrc", "serve", str(gallery), "--port", "0"]
        print(f"{'picture':34}{'command':>9}{'server':>9}{'health':>9}")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
                assert found is not None
                for name, make in pictures().items():
                    content = make()
                    file = Path(folder) / "a.jpg"
                    file.write_bytes(content)
                    longer, said = in_command(gallery, file)
                    longer -= good
                    served, status, health = in_server(int(found[1]), content)
                    bad = longer > MOST or max(health) > MOST_HEALTH or status >= 500
                    failed += bad or "Traceback" in said
                    line = f"{name:34}{longer:>8.2f}s{served:>8.2f}s{max(health):>8.2f}s  {status} {said[-90:]}"
                    print(line, flush=True)
            finally:
                process.terminate()
    bounds = f"more than {MOST:g} s of processor, or health more than {MOST_HEALTH:g} s"
    print(f"{failed} of {len(pictures())} took {bounds}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
