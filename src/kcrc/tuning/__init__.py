"""No knobs: the stored examples, each left out in turn, choose the parameters."""

from kcrc.tuning.setting import LeftOut, Score, Setting, Tuning

__all__ = ["LeftOut", "Score", "Setting", "Tuning"]
