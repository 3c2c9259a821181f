"""Hostile ONNX files that are run: what the audit lets through is for onnxruntime, in a process of its own."""

from __future__ import annotations

import random

import numpy as np

from fuzz.area import Wrong, register
from fuzz.areas.networks import Networks
from fuzz.place import Place
from kcrc.errors import KCRCError
from kcrc.images.features import make
from kcrc.images.network.onnx_audit import audit


@register("sessions", about="ONNX files that are run", share=100)
class Sessions(Networks):
    uses_box = True  # a network that brings onnxruntime down ends its worker alone

    def plant(self, place: Place, rng: random.Random) -> str:
        """A file that passes the audit, or the last of many that did not."""
        for _ in range(50):
            content = self._network(rng)
            place.name("m.onnx").write_bytes(content)
            try:
                audit(content, "m.onnx")
                break
            except KCRCError:
                continue
        return "m.onnx"

    def use(self, place: Place, planted: str) -> None:
        """Vectors, or an error in words."""
        feature = make("onnx", path=place.folder / planted, size=(8, 8), threads=1)
        vectors = feature.transform([np.zeros((8, 8, 3), np.uint8)])
        if not np.isfinite(vectors).all():
            raise Wrong("a feature that is not finite")
