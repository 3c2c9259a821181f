"""kill −9 at a random moment of a random act: what was acknowledged is there, the rest is not there by halves."""

from __future__ import annotations

import random
from typing import Any

from fuzz.area import Area, Wrong, register
from fuzz.borrowed import from_tests
from fuzz.place import Place


@register("kills", about="kill -9 while galleries are changed", share=500)
class Kills(Area):
    starts_processes = True

    def load(self) -> None:
        self.kills = from_tests("gallery/kills.py")

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        place.name("kill.kcrc", "template.v1", "backup.kcrc", "log", "built-*", "old-*")
        return {"rounds": rng.choice([1, 1, 2, 3]), "seed": rng.randrange(10**6)}

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        """Kill the writer, look, and go on from there with another."""
        try:
            self.kills.Run(place.folder, self.kills.Forks(), planted["seed"]).kills(planted["rounds"])
        except AssertionError as lost:
            raise Wrong(f"after a kill: {lost}") from lost
