"""Finding a query's nearest examples."""

from kcrc.method.neighbours.base import Neighbourhood, NeighbourIndex
from kcrc.method.neighbours.exact import ExactIndex
from kcrc.method.neighbours.scan import ScanIndex, index_for

__all__ = ["ExactIndex", "NeighbourIndex", "Neighbourhood", "ScanIndex", "index_for"]
