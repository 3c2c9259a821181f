"""A prepared answerer for single queries, batches and (``stream``) image files. No scikit-learn in it."""

from kcrc.answering.answerer import Answerer
from kcrc.answering.answers import Answers
from kcrc.answering.samples import SampleForm

__all__ = ["Answerer", "Answers", "SampleForm"]
