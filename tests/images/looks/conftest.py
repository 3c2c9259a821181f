from __future__ import annotations

import pytest

from images.looks.drawings import drawings
from kcrc import ImageClassifier, looks

looks.names()  # fills the registry, which tests look into


@pytest.fixture(scope="package")
def fitted():
    """A classifier that several looks answer in; tests leave it as it is."""
    images, labels = drawings(12)
    made = ImageClassifier(looks=["pixels", "hog", "tangent"], tuning_seconds=5, verbose=False).fit(images, labels)
    return made
