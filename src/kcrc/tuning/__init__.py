"""No knobs: the stored examples, each left out in turn, choose the parameters."""

from kcrc.tuning.setting import Score, Setting, Tuning

__all__ = ["Score", "Setting", "Tuning"]
