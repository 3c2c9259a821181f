"""What is computed from the examples' own answers, for as long as they stay the same."""

from __future__ import annotations

from collections.abc import Callable

from kcrc.confidence.advice import Advice, advise
from kcrc.confidence.audit import Audit, audit
from kcrc.errors import StateError
from kcrc.web.computing import Report
from kcrc.web.current import Current


def advice(current: Current, report: Report) -> Advice | None:
    """None where the examples are too few to say anything."""
    try:
        return advise(current.answerer.model, current.answerer.confidence)
    except StateError:
        return None


def audited(thumbnail: Callable[[int], bytes | None], current: Current, report: Report) -> Audit:
    from kcrc.images.look_alikes import with_look_alikes  # loads SciPy, which no question needs

    model = current.answerer.model
    found = audit(model, current.answerer.confidence, None, report)
    return with_look_alikes(found, model.ids, model.classes[model.labels], thumbnail, None)
