"""What was chosen, as a picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from images.looks.drawings import drawings
from kcrc.images.looks.choice import draw_choice


def test_every_look_that_was_tried_has_a_line(fitted, tmp_path):
    pytest.importorskip("matplotlib")
    images, _ = drawings(12)
    figure = fitted.plot_looks(images, tmp_path / "looks.png")
    tried = [score for score in fitted.choice_.scores if score.asked]
    assert len(figure.axes) == 3 * len(tried)
    assert (tmp_path / "looks.png").read_bytes().startswith(b"\x89PNG")
    assert len(fitted.plot_looks().axes) == len(tried)


def test_a_long_name_is_broken_and_words_on_a_short_bar_stand_beside_it(fitted):
    pytest.importorskip("matplotlib")
    score = next(score for score in fitted.choice_.scores if score.asked)
    poor = replace(score, name="join of " + " + ".join(["hog", "colour pixels", "pyramid"]), right=score.asked // 4)
    figure = draw_choice(replace(fitted.choice_, scores=(score, poor)), None, None)
    above, below = figure.axes
    assert "\n" in below.get_yticklabels()[0].get_text()
    assert above.texts[0].get_position()[0] < 100 * score.accuracy
    assert below.texts[0].get_position()[0] > 100 * poor.accuracy
