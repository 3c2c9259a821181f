"""Pictures of the page for the documentation, from those that the tests keep:

KCRC_SCREENSHOTS=shots make test-web && python docs/pictures/page.py shots
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from PIL import Image

SHOWN = (
    *("ask-light", "ask-dark", "ask-phone", "what-if-light", "what-if-phone", "teach-light", "teach-many"),
    *("browse-light", "map-dark", "audit-light", "enough-light", "history-light", "unknown-light", "all-agree-light"),
)
HERE = Path(__file__).parent / "page"
SHOWS = Path(__file__).parents[2] / "src" / "kcrc" / "web" / "page"
STAMP = HERE / "made-of.txt"
WIDE, COLOURS = 800, 200


def digest() -> str:
    """The SHA-256 over the files of the page: pictures made of other files are pictures of another version."""
    whole = hashlib.sha256()
    for path in sorted(path for path in SHOWS.rglob("*") if path.is_file()):
        whole.update(path.relative_to(SHOWS).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def main(shots: Path) -> None:
    HERE.mkdir(exist_ok=True)
    for path in [*(shots / f"page-{name}.png" for name in SHOWN), *sorted(shots.glob("film-*.png"))]:
        with Image.open(path) as found:
            height = round(found.height * min(1.0, WIDE / found.width))
            small = found.convert("RGB").resize((min(WIDE, found.width), height), Image.Resampling.LANCZOS)
            small.quantize(COLOURS).save(HERE / path.name, optimize=True)
    STAMP.write_text(digest() + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
