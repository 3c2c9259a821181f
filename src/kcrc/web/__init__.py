"""``kcrc serve``: a gallery as a page in the browser and an API, answered as the command line answers.

``routes`` is the one table of requests; the OpenAPI document is made from it. A connection has the limits of
``connections``. A request passes ``guard`` (is it let in?), its body is read and checked by ``bodies``, and a handler
in ``questions``, ``teaching``, ``browsing`` or ``findings`` answers it. The handlers share one ``service``: queries
that arrive together are answered together (``current``); changes are made one after the other, what they teach is
learned after them, and slow results are computed once (``background``).
"""
