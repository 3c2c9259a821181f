"""Finding a query's nearest examples."""

from kcrc.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.neighbours.exact import ExactIndex

__all__ = ["ExactIndex", "NeighbourIndex", "Neighbourhood"]
