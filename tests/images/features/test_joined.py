"""Several features as one: what each part of a vector is, what is kept of them, and what a damaged state gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from kcrc.errors import DataError, ParameterError
from kcrc.images.decoding.resizing import view_array
from kcrc.images.features import make, restore
from kcrc.images.features.joined import JoinedLooks


def joined(pictures, **more: Any) -> JoinedLooks:
    members = (
        make("hog", size=(32, 32), cell=8),
        make("lbp", size=(32, 32), grid=(2, 2)),
        make("eigenfaces", n_components=5, size=(24, 20)).fit(pictures[:8]),
    )
    return JoinedLooks(**{"names": ("outlines", "texture", "faces"), "members": members, "weights": (6, 3, 1), **more})


def test_each_part_of_a_vector_is_a_look_of_length_1_times_the_root_of_its_weight(pictures):
    feature = joined(pictures)
    vectors = feature.transform(pictures)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(pictures), feature.dim))
    for place, member, weight in zip(feature.stretches, feature.members, (0.6, 0.3, 0.1), strict=True):
        part = vectors[:, place.start : place.stop]
        seen = [view_array(view_array(picture, feature.view), member.view) for picture in pictures]
        alone = member.transform_pixels(seen)
        alone *= np.sqrt(weight) / np.linalg.norm(alone, axis=1, keepdims=True)
        assert place.weight == pytest.approx(weight)
        np.testing.assert_allclose(part, alone, atol=1e-6)


def test_where_one_look_cuts_without_scaling_pictures_come_as_they_are(pictures):
    cutting = make("hog", size=(24, 24), cell=8, fit_to="cut")
    feature = joined(pictures, names=("cut", "texture"), members=(cutting, make("lbp", size=(32, 32))), weights=(1, 1))
    picture = np.random.default_rng(0).integers(0, 256, (50, 300, 3), dtype=np.uint8)
    alone = cutting.transform([picture])[0]
    place = feature.stretches[0]
    ours = feature.transform([picture])[0, place.start : place.stop]
    np.testing.assert_allclose(ours, alone * np.sqrt(0.5) / np.linalg.norm(alone), atol=1e-6)


def test_a_look_that_sees_nothing_is_no_numbers_at_all(pictures):
    feature = joined(pictures)
    black = feature.transform([np.zeros((40, 40, 3), np.uint8)])
    outlines = feature.stretches[0]
    assert not black[:, outlines.start : outlines.stop].any()
    assert np.isfinite(black).all()


def test_a_state_gives_the_same_vectors_through_json(pictures):
    feature = joined(pictures)
    state = feature.state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    assert arrays
    assert all(name.startswith("2-") for name in arrays)
    plain = json.loads(json.dumps({name: value for name, value in state.items() if name not in arrays}))
    again = restore({**plain, **arrays})
    assert again.fingerprint == feature.fingerprint
    np.testing.assert_array_equal(again.transform(pictures), feature.transform(pictures))


def test_the_fingerprint_is_of_members_names_and_weights(pictures):
    feature = joined(pictures)
    others = [
        joined(pictures, weights=(6, 3, 2)),
        joined(pictures, names=("outlines", "texture", "more")),
        joined(pictures, members=(make("hog", size=(32, 32), cell=4), *feature.members[1:])),
    ]
    assert len({one.fingerprint for one in [feature, *others]}) == 4


def test_the_picture_is_large_enough_for_every_member(pictures):
    large = make("hog", size=(128, 96), cell=16)
    assert joined(pictures, members=(large, *joined(pictures).members[1:])).view.size == (256, 256)
    grey = JoinedLooks(names=("a",), members=(make("lbp"),), weights=(1,))
    assert not grey.view.colour


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"names": ("a", "a", "b")}, "different texts"),
        ({"names": ("a", "b\n", "c")}, "different texts"),
        ({"names": ("a", "b")}, "2 names"),
        ({"weights": (1, 0, 1)}, "above 0"),
        ({"weights": (1, float("nan"), 1)}, "above 0"),
        ({"members": ()}, "got 0 features"),
        ({"members": ("hog", "lbp", "pixels")}, "must be features of pictures other than"),
    ],
)
def test_what_cannot_be_joined_is_said(pictures, wrong, said):
    with pytest.raises(ParameterError, match=said):
        joined(pictures, **wrong).transform(pictures)


def test_a_member_that_no_state_brings_back_is_refused(pictures):
    from kcrc.images.features.callables import FunctionFeature

    own = FunctionFeature(lambda batch: np.ones((len(batch), 2)))
    with pytest.raises(ParameterError, match="must be features of pictures other than"):
        JoinedLooks(names=("own",), members=(own,), weights=(1,)).transform(pictures)


def test_damaged_states_are_refused_in_words(pictures):
    state = joined(pictures).state()
    first, *others = state["members"]
    arrays = [name for name, value in state.items() if isinstance(value, np.ndarray)]
    damaged = [
        {**state, "version": 99},
        {**state, "options": None},
        {**state, "options": {"names": ["a"]}},
        {**state, "options": {**state["options"], "names": [["a"], "b", "c"]}},
        {**state, "options": {**state["options"], "names": "abc"}},
        {**state, "options": {**state["options"], "weights": [1, -1, 1]}},
        {**state, "options": {**state["options"], "weights": [1, True, 1]}},
        {**state, "options": {**state["options"], "weights": [1, 1e300, "1"]}},
        {**state, "options": {**state["options"], "more": 1}},
        {**state, "members": []},
        {**state, "members": [None, *others]},
        {**state, "members": [state, *others]},
        {**state, "members": [{**first, "feature": "onnx"}, *others]},
        {**state, "members": [{**first, "feature": ["hog"]}, *others]},
        {**state, "members": [{**first, "options": {**first["options"], "size": [16000, 16000]}}, *others]},
        {**state, "members": [first] * 9, "options": {"names": list("abcdefghi"), "weights": [1] * 9}},
        {**state, "members": [first, first], "options": {"names": ["a"], "weights": [1]}},
        *({key: value for key, value in state.items() if key != name} for name in arrays),
        *({**state, name: state[name][..., :-1]} for name in arrays),
        *({**state, name: "text"} for name in arrays),
    ]
    for bad in damaged:
        with pytest.raises(DataError, match=r"^The state "):
            restore(bad)
