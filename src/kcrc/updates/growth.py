"""How many examples came and went since the parameters were chosen, and which row number is next."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Growth:
    """How many examples came or went since the parameters were chosen: ``growth_``.

    Attributes
    ----------
    next_row : int
        The row number of the next example.
    tuned_on : int
        On how many examples the parameters were chosen.
    changed : int
        How many came or went since.
    due : str or None
        Why choosing anew is advisable; None if it is not.
    """

    next_row: int
    tuned_on: int
    changed: int = 0

    def added(self, rows: int, *, next_row: int) -> Growth:
        """After ``rows`` more examples."""
        return replace(self, next_row=next_row, changed=self.changed + rows)

    def forgotten(self, rows: int) -> Growth:
        """After ``rows`` examples were forgotten: their numbers are not given again."""
        return replace(self, changed=self.changed + rows)

    @property
    def due(self) -> str | None:
        """Why choosing anew is due, or None. Tuned parameters stay as they are; after a fifth of the examples changed
        they may no longer be the best."""
        if self.changed <= max(5, 0.2 * self.tuned_on):
            return None
        return (
            f"{self.changed} examples came or went since the parameters were chosen on {self.tuned_on}; call retune()."
        )
