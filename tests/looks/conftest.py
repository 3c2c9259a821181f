from __future__ import annotations

import pytest

from kcrc import ImageClassifier
from looks.drawings import drawings


@pytest.fixture(scope="package")
def fitted():
    """A classifier that several looks answer in; tests leave it as it is."""
    images, labels = drawings(12)
    made = ImageClassifier(looks=["pixels", "hog", "tangent"], tuning_seconds=5, verbose=False).fit(images, labels)
    return made
