"""What was chosen, as a picture."""

from __future__ import annotations

import pytest

from looks.drawings import drawings


def test_every_look_that_was_tried_has_a_line(fitted, tmp_path):
    pytest.importorskip("matplotlib")
    images, _ = drawings(12)
    figure = fitted.plot_looks(images, tmp_path / "looks.png")
    tried = [score for score in fitted.choice_.scores if score.asked]
    assert len(figure.axes) == 3 * len(tried)
    assert (tmp_path / "looks.png").read_bytes().startswith(b"\x89PNG")
    assert len(fitted.plot_looks().axes) == len(tried)
