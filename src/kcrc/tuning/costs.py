"""The arithmetic of local problems, roughly: what the budgets of searches are counted in."""

SPEED = 3e10  # arithmetic a second of two ordinary cores
DOUBLE = 4.0  # how much dearer a problem is that has to be posed and solved in double precision


def posing_cost(k: float, form: str, projecting: float = 0.0) -> float:
    """Arithmetic of a local problem of k atoms, roughly; ``projecting``: the cost of Ψ over k³."""
    return k * k * (25.0 + (k if form == "gram" else 0.0) + projecting * k)


def solving_cost(k: float) -> float:
    """Arithmetic of its answer with one penalty, roughly."""
    return k**3 / 3 + 60.0 * k * k + 2e4
