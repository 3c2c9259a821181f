"""Pictures of the page for the documentation, from those that the tests keep:

KCRC_SCREENSHOTS=shots make test-web && python docs/pictures/page.py shots
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

SHOWN = (
    *("ask-light", "ask-dark", "ask-phone", "what-if-light", "what-if-phone", "teach-light", "teach-many"),
    *("browse-light", "map-dark", "audit-light", "enough-light", "history-light", "unknown-light", "all-agree-light"),
)
HERE = Path(__file__).parent / "page"
WIDE, COLOURS = 800, 200


def main(shots: Path) -> None:
    HERE.mkdir(exist_ok=True)
    for path in [*(shots / f"page-{name}.png" for name in SHOWN), *sorted(shots.glob("film-*.png"))]:
        with Image.open(path) as found:
            height = round(found.height * min(1.0, WIDE / found.width))
            small = found.convert("RGB").resize((min(WIDE, found.width), height), Image.Resampling.LANCZOS)
            small.quantize(COLOURS).save(HERE / path.name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
