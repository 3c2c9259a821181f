"""How fast, against what: this library, what users would pick instead, and the machine's own limits, in one run.

``python -m lab bench`` runs it. Seconds mean nothing on another machine, so all that is kept, compared and claimed is
ratios of times measured in turns within one run.
"""
