"""The command ``kcrc`` with arguments, file names and class names made to do harm: an exit code and plain text."""

from __future__ import annotations

import io
import os
import random
import shutil
import sys
from typing import Any

from fuzz import pictures
from fuzz.area import Area, Wrong, register
from fuzz.borrowed import from_tests
from fuzz.healthy import photo_gallery
from fuzz.mutation import CONTROL, NUMBERS, TEXTS, damaged
from fuzz.place import Place
from kcrc.cli import COMMANDS, main
from kcrc.gallery import Gallery

_CODES = (0, 1, 2)
_LEFT_OUT = ("bench", "demo", "reproduce", "serve", "tune", "watch")  # they run on, or write where they are told to
_OPTIONS = ("--json", "--csv", "--label", "-l", "--reject", "--set", "--mark", "--html", "--top", "--erase", "-n",
"--force",
            "--feature", "-f", "--option", "-o", "--duplicates", "--on-error", "--file-names", "--worst", "--",
            "--help", "-")  # fmt: skip
_MARKS = [mark for mark in CONTROL if mark not in ("\0",)]


class Output(Wrong):
    """Printed what a terminal would obey, or ended with an unknown code."""

    kind = "output"


@register("command", about="the command, its arguments and names", share=1500)
class Command(Area):
    uses_box = True

    def prepare(self) -> None:
        photo_gallery(self.samples / "g.kcrc", self.samples / "photos")
        shutil.copyfile(self.samples / "g.kcrc", self.samples / "odd.kcrc")
        with Gallery.open(self.samples / "odd.kcrc") as gallery:
            for number, example in enumerate(gallery.contents.ids.tolist()):
                gallery.relabel([example], f"{TEXTS[3 + number % 5]}{_MARKS[number % 3]}")
            gallery.classifier()
            gallery.export(self.samples / "e.npz")

    def load(self) -> None:
        self.photo = next((self.samples / "photos").rglob("*.jpg")).read_bytes()
        self.code = from_tests("cli/test_hostile.py").bomb(50_000)

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        mark = rng.choice(["", *_MARKS])
        names = [f"{mark}g.kcrc", f"a{mark}.jpg", f"e{mark}.npz", f"out{mark}"]
        place.name(*names, "x.html", "photos")
        shutil.copyfile(self.samples / rng.choice(["g.kcrc", "odd.kcrc"]), place.folder / names[0])
        shutil.copyfile(self.samples / "e.npz", place.folder / names[2])
        picture = rng.choice([self.photo, self.photo, pictures.hostile(rng), self.code])
        (place.folder / names[1]).write_bytes(picture)
        folder = place.folder / "photos" / f"c{mark}"
        folder.mkdir(parents=True)
        (folder / f"{mark}.jpg").write_bytes(self.photo)
        if rng.random() < 0.3:
            whole = place.folder / rng.choice([names[0], names[2]])
            whole.write_bytes(damaged(whole.read_bytes(), rng))
        words = _arguments(names, rng)
        place.name(*(word.partition("/")[0] for word in words))  # whatever is named may be written
        return {"arguments": words, "stdin": rng.choice([b"", rng.randbytes(50), os.fsencode(names[1])])}

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        before = sys.stdin, sys.stdout, sys.stderr
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "strict", write_through=True) for _ in range(2))
        sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(planted["stdin"])), out, err
        try:
            code: object = main(planted["arguments"])
        except SystemExit as leaving:
            code = leaving.code
        finally:
            sys.stdin, sys.stdout, sys.stderr = before
        told = (out.buffer.getvalue() + err.buffer.getvalue()).decode("utf-8", "surrogateescape")
        if code not in _CODES or "Traceback" in told:
            raise Output(f"{planted['arguments']!r} ended with {code!r}: {told[-500:]!r}")
        odd = sorted({c for c in told if not c.isprintable() and c not in "\n\t"})
        if odd:
            raise Output(f"{planted['arguments']!r} printed {odd!r}: {told[-500:]!r}")


def _arguments(names: list[str], rng: random.Random) -> list[str]:
    """A command as a person would give it, then with words changed."""
    gallery, image, export, out = names
    known = [name for name in COMMANDS if name not in _LEFT_OUT]
    label = rng.choice(["wren", rng.choice(TEXTS)])
    sensible = {
        "predict": [
            gallery,
            image,
            *rng.choice([[], ["--json"], ["--csv"], ["--reject", "--set"], ["--reject", "--mark", label]]),
        ],
        "explain": [gallery, image, *rng.choice([[], ["--json"], ["--html", "x.html"]])],
        "add": [gallery, image, "--label", label],
        "remove": [gallery, rng.choice(["1", image, label, "#2"]), *rng.choice([[], ["--erase"]])],
        "relabel": [gallery, "3", "--label", label],
        "rename": [gallery, label, rng.choice(TEXTS)],
        "audit": [gallery, *rng.choice([[], ["--json"], ["--csv"], ["--html", "x.html"]])],
        "info": [gallery, *rng.choice([[], ["--json"]])],
        "evaluate": [gallery, "photos", *rng.choice([[], ["--json"], ["--html", "x.html"]])],
        "build": ["photos", "-o", out, "-f", rng.choice(["pixels", "hog", label])],
        "list": [gallery, *rng.choice([[], ["--json"], ["--csv"], ["--page", "x.html"], ["--label", label]])],
        "show": [gallery, "1", *rng.choice([[], ["--json"]])],
        "sort": rng.choice([[gallery, "photos", out, "--dry-run"], [gallery, image, out], ["--undo", out]]),
        "export": [gallery, out, *rng.choice([[], ["--format", "csv"], ["--format", "folders"]])],
        "import": [rng.choice([gallery, out]), rng.choice([export, "photos", image])],
    }
    command = rng.choice(known)
    words = [command, *sensible.get(command, [gallery])]
    for _ in range(rng.choice([0, 0, 1, 2])):
        at = rng.randrange(len(words) + 1)
        word = rng.choice([rng.choice(_OPTIONS), rng.choice(TEXTS), str(rng.choice(NUMBERS)), rng.choice(names)])
        words[at : at + rng.choice([0, 1])] = [word]
    # The system hands over no NUL and no surrogates but those of undecodable bytes; folders above are not to be used.
    fine = [word.replace("\0", "") for word in words]
    return [word if not word.startswith(("/", "..")) else "." for word in fine]
