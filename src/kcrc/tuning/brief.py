"""A search without a walk, for callers who choose among many classifiers and need each of them only nearly as good.

Of vectors it looks at two geometries, the prior's favoured one and the vectors as they are, since to make one costs as
much as to try many settings in it; in each at the settings that a walk starts from, with a quarter and twice the atoms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kcrc.tuning import prior
from kcrc.tuning.search import Search
from kcrc.tuning.setting import Setting

TRIALS_FIRST = 400
PLAIN = "plain"


class BriefSearch(Search):
    """As ``Search``, from the first settings straight to the finalists."""

    def run(self) -> Setting:
        favourite = prior.favourite(self.grid)
        if favourite is None:
            self.favourites, names = [], list(self.grid.makers)
        elif self.mates < prior.FEWEST_MATES:  # which decides alone
            return super().run()
        else:
            self.favourites = [favourite]
            names = [name for name in self.grid.makers if name in (PLAIN, favourite.geometry)]
        self.progress(0.0)
        everywhere = np.arange(len(self.order))
        settings = list(dict.fromkeys(sized for name in names for sized in self._first(name)))
        self.tried([*settings, *self.favourites], everywhere[:TRIALS_FIRST], 0.5)
        return self._final(settings, everywhere)

    def _first(self, name: str) -> list[Setting]:
        """Where a walk would start, with fewer atoms too where their number is open, and with more where a distance is
        not so costly that candidates are found by another."""
        first = self.grid.first(name)
        if "n_neighbors" in self.grid.fixed:
            return first
        times = (0.25, 1, 2) if self.field.most is None else (0.25, 1)
        sizes = [[max(2, int(factor * s.n_neighbors)) for factor in times] for s in first]
        return [
            replace(s, n_neighbors=min(size, self.grid.most(s.geometry, s.kernel)))
            for s, own in zip(first, sizes, strict=True)
            for size in own
        ]
