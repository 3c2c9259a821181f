"""Classify images by example."""

__version__ = "0.1.0"
