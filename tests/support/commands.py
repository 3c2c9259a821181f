"""Every command once, as a person gives it first, in a folder with the gallery birds.kcrc of photos/, pictures in test/
and more/, and out/."""

from __future__ import annotations

# name: (what it does with the gallery: "reads", "writes" or "none", arguments). In this order each succeeds after
# the ones before it.
CALLS: dict[str, tuple[str, list[str]]] = {
    "build": ("writes", ["photos", "-o", "new.kcrc", "-f", "pixels"]),
    "predict": ("reads", ["birds.kcrc", "photos/wren/3.jpg"]),
    "explain": ("reads", ["birds.kcrc", "test/wren/50.jpg"]),
    "add": ("writes", ["birds.kcrc", "more"]),
    "undo": ("writes", ["birds.kcrc"]),
    "sort": ("reads", ["birds.kcrc", "test", "out/sorted"]),
    "watch": ("reads", ["birds.kcrc", "test", "--once", "--seconds", "0.05"]),
    "relabel": ("writes", ["birds.kcrc", "1", "--label", "owl"]),
    "rename": ("writes", ["birds.kcrc", "owl", "eagle"]),
    "remove": ("writes", ["birds.kcrc", "2"]),
    "redo": ("writes", ["birds.kcrc"]),
    "history": ("reads", ["birds.kcrc"]),
    "evaluate": ("reads", ["birds.kcrc"]),
    "audit": ("reads", ["birds.kcrc"]),
    "advise": ("reads", ["birds.kcrc"]),
    "list": ("reads", ["birds.kcrc"]),
    "show": ("reads", ["birds.kcrc", "3"]),
    "info": ("reads", ["birds.kcrc"]),
    "tune": ("writes", ["birds.kcrc", "--seconds", "2"]),
    "verify": ("reads", ["birds.kcrc"]),
    "backup": ("reads", ["birds.kcrc", "out/copy.kcrc"]),
    "compact": ("writes", ["birds.kcrc"]),
    "export": ("reads", ["birds.kcrc", "out/labels.csv"]),
    "import": ("writes", ["birds.kcrc", "out/labels.csv"]),
    "copy": ("reads", ["birds.kcrc", "out/other.kcrc"]),
    "help": ("none", []),
}
APART = {"serve", "completion", "demo"}
"""A server, a script for a shell, figures of rivals: each in tests of its own."""
