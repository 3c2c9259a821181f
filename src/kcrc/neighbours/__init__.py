"""Finding a query's nearest examples."""

from kcrc.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.neighbours.exact import ExactIndex
from kcrc.neighbours.scan import ScanIndex, index_for

__all__ = ["ExactIndex", "NeighbourIndex", "Neighbourhood", "ScanIndex", "index_for"]
