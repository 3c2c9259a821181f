"""``kcrc serve``: a gallery as a page in the browser and an API, on the answerer that the command line uses.

``routes`` is the one table of what can be asked; ``openapi`` is made from it. A request passes ``guard`` (who may ask),
is read by ``bodies`` (no more than allowed), and is answered by a handler in ``asking``, ``teaching``, ``browsing`` or
``labelling``. They share one ``service``: queries that arrive together are answered together (``batching``), changes
are made one after the other (``writer``), what changes teach is learned behind them (``learner``).
"""
