"""How it goes on with more examples: what is measured for ``docs/scale.md``, and the page made of it (``page.py``)."""
