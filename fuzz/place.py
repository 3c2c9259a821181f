"""Where a case happens: a folder of its own, with files around it that nobody named and that must stay as they are."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

CANARIES = ("private.txt", "photo.jpg", "other.kcrc", "other.kcrc-journal", "weights.bin")
_INSIDE = "private.txt"  # the canary that lies in the case's own folder


class Place:
    """``folder`` is the case's own and the current one; ``outside`` has files nobody named; ``home`` is the user's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder, self.outside, self.home = (root / name for name in ("case", "outside", "home"))
        for folder in (self.folder, self.outside, self.home):
            folder.mkdir(parents=True)
        self.named: list[str] = []
        self._before: dict[str, str] = {}

    @property
    def canaries(self) -> list[Path]:
        """Every file that must not be opened, changed or deleted."""
        return [self.folder / _INSIDE, self.home / _INSIDE, *(self.outside / name for name in CANARIES)]

    def clear(self) -> None:
        """An empty folder but for its canary, and all canaries whole."""
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                _open_up(path)
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        for path in self.canaries:
            content = f"{path.name}: nobody named this file\n".encode() * 20
            if _content(path) != content:  # also after a case that did harm
                path.unlink(missing_ok=True)
                path.write_bytes(content)
        self.named = []

    def name(self, *names: str) -> Path:
        """Names that the user gives in this case: they, and what belongs to them, may be made, changed and deleted."""
        self.named += names
        return self.folder / names[0]

    def remember(self) -> None:
        """What there is before the case is used."""
        self._before = self._looked()

    def strays(self) -> list[str]:
        """What was made, changed or deleted since ``remember`` and is not the user's, in words."""
        now, before = self._looked(), self._before
        changed = [path for path in {*now, *before} if now.get(path) != before.get(path) and not self._belongs(path)]
        words = {(True, False): "deleted", (False, True): "made", (True, True): "changed"}
        return [f"{words[path in before, path in now]} {path}" for path in sorted(changed)]

    def _looked(self) -> dict[str, str]:
        """A mark of every canary's content, and of every name in the folder."""
        found = {os.path.relpath(path, self.root): _mark(path) for path in self.canaries}
        for folder, inside, files in os.walk(self.folder):
            for name in (*inside, *files):
                found.setdefault(os.path.relpath(os.path.join(folder, name), self.root), "there")
        for around in (self.outside, self.home):
            for path in around.iterdir():
                found.setdefault(os.path.relpath(path, self.root), "there")
        return found

    def _belongs(self, path: str) -> bool:
        parts = Path(path).parts
        if parts[0] != self.folder.name or parts[1] == _INSIDE:
            return False
        return parts[1] == ".kcrc-cache" or any(_of(parts[1], name) for name in self.named)


def _of(found: str, name: str) -> bool:
    """Whether a file is the one called ``name`` (a star at its end stands for anything) or one that belongs to it."""
    if name.endswith("*"):
        return found.lstrip(".").startswith(name[:-1])
    return found == name or found.startswith((f"{name}-", f"{name}.", f".{name}."))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _mark(path: Path) -> str:
    content = _content(path)
    return "not there" if content is None else hashlib.sha256(content).hexdigest()


def _open_up(folder: Path) -> None:
    """Let folders without rights be deleted."""
    for where, inside, _ in os.walk(folder):
        for name in (where, *(os.path.join(where, name) for name in inside)):
            with contextlib.suppress(OSError):
                if not os.path.islink(name):
                    os.chmod(name, 0o700)
