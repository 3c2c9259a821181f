"""What a repository's file says of pictures, beside the same steps done slowly with Pillow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from PIL import Image

from kcrc.errors import DataError, ParameterError
from kcrc.images.decoding.resizing import FILTERS, View, fit_image, view_array
from kcrc.images.features.onnx import Onnx
from kcrc.images.features.preparation import onnx_options


def shape(told: dict) -> tuple:
    found = onnx_options(told, "x")
    return found["size"], found["crop"], found["fit_to"]


def test_preparations_of_well_known_encoders():
    """As their published files say: DINOv2 (256, then 224 from the middle), SigLIP (stretched), CLIP (224 by edge),
    ViT in its older form (stretched), ConvNeXt below 384 and from there on."""
    dino = {"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}, "do_center_crop": True}
    assert shape(dino) == ((256, 256), (224, 224), "crop")
    siglip = {"size": {"height": 224, "width": 224}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    assert shape(siglip) == ((224, 224), None, "stretch")
    assert onnx_options(siglip, "x")["mean"] == (127.5, 127.5, 127.5)
    clip = {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}, "do_center_crop": True}
    assert shape(clip) == shape({"size": 224, "crop_size": 224}) == ((224, 224), None, "crop")
    assert shape({"size": 224, "feature_extractor_type": "ViTFeatureExtractor"}) == ((224, 224), None, "stretch")
    assert shape({"size": 224, "crop_pct": 0.875}) == ((256, 256), (224, 224), "crop")
    assert shape({"size": {"shortest_edge": 384}, "crop_pct": 0.875}) == ((384, 384), None, "stretch")
    convnext = {"size": {"shortest_edge": 224}, "crop_pct": None, "image_processor_type": "ConvNextImageProcessor"}
    assert shape(convnext) == ((256, 256), (224, 224), "crop")
    assert shape({"size": [224, 336]}) == ((224, 336), None, "stretch")
    assert shape({"size": {"height": 256, "width": 256}, "crop_size": 224}) == ((256, 256), (224, 224), "stretch")
    assert shape({"size": 256, "crop_size": 224, "do_center_crop": False}) == ((256, 256), None, "stretch")
    assert shape({}) == ((224, 224), None, "stretch")


def seen(told: dict, picture: np.ndarray) -> np.ndarray:
    """What the network would be given: (3, h, w)."""
    feature = Onnx("not opened", **onnx_options(told, "x"))
    feature._check()
    return feature._prepare(view_array(picture, feature.view)[None].astype(np.float32))[0]


PICTURE = np.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=np.uint8)


@pytest.mark.parametrize("number", range(6))
def test_the_filter_is_the_one_named(number):
    ours = seen({"size": {"height": 16, "width": 24}, "resample": number, "do_rescale": False}, PICTURE)
    theirs = Image.fromarray(PICTURE).resize((24, 16), Image.Resampling(number), reducing_gap=2.0)
    np.testing.assert_array_equal(ours, np.asarray(theirs, np.float32).transpose(2, 0, 1))
    assert Image.Resampling(number).name.lower() == FILTERS[number]


def test_without_a_filter_or_with_the_usual_one_the_options_are_those_of_earlier_versions():
    for told in ({}, {"resample": None}, {"resample": 3}):
        assert onnx_options(told, "x")["resample"] is None


def test_every_step_in_its_order():
    told = {
        "size": {"shortest_edge": 24}, "resample": 2, "crop_size": 16, "rescale_factor": 1 / 127.5,
        "image_mean": [0.5, 0.4, 0.3], "image_std": [0.1, 0.2, 0.4], "do_flip_channel_order": True,
    }  # fmt: skip
    small = Image.fromarray(PICTURE).resize((24, 24), Image.Resampling.BILINEAR, reducing_gap=2.0).crop((4, 4, 20, 20))
    flipped = np.asarray(small, float)[:, :, ::-1] / 127.5
    expected = (flipped - told["image_mean"]) / told["image_std"]
    np.testing.assert_allclose(seen(told, PICTURE), expected.transpose(2, 0, 1), rtol=1e-4, atol=1e-4)
    plain = seen(told | {"do_normalize": False, "do_flip_channel_order": False}, PICTURE)
    np.testing.assert_allclose(plain, np.asarray(small, float).transpose(2, 0, 1) / 127.5, rtol=1e-5)


def test_pictures_that_are_not_resized_are_cut_with_a_black_border_where_they_are_smaller():
    told = {"do_resize": False, "size": 200, "crop_size": {"height": 40, "width": 70}, "do_rescale": False}
    expected = np.zeros((40, 70, 3))
    expected[:, 5:65] = PICTURE[10:50]
    np.testing.assert_array_equal(seen(told, PICTURE), expected.transpose(2, 0, 1))
    np.testing.assert_array_equal(seen(told, PICTURE / 255.0) * 255.0, expected.transpose(2, 0, 1))
    with pytest.warns(UserWarning, match=r"do_resize is false.*stretched to 200×200"):
        assert shape({"do_resize": False, "size": 200}) == ((200, 200), None, "stretch")


def test_what_is_not_understood_is_named():
    with pytest.warns(
        UserWarning, match=r"unknown settings: 'do_pad', 'rescale_offset'\. Pictures are preprocessed without"
    ):
        onnx_options({"rescale_offset": True, "do_pad": True, "size_divisor": None, "do_thumbnail": False}, "x")
    with pytest.warns(UserWarning, match="do_normalize but not image_mean and image_std; 0 and 1"):
        onnx_options({"do_normalize": True}, "x")
    with pytest.warns(UserWarning, match="unknown settings: 'data_format'"):
        onnx_options({"data_format": "channels_last"}, "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onnx_options({"do_convert_rgb": True, "processor_class": "CLIPProcessor", "data_format": "channels_first"}, "x")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"resample": 6}, "resample 6; it must be 0 to 5"),
        ({"resample": "bicubic"}, "resample bicubic; it must be"),
        ({"do_resize": "no"}, "do_resize no; it must be true or false"),
        ({"crop_pct": 0}, "crop_pct 0; it must be 0.1 to 1"),
        ({"crop_pct": 1e999}, "crop_pct inf; it must be 0.1 to 1"),
        ({"size": {"shortest_edge": 224, "longest_edge": 500}}, "it must be a number, shortest_edge"),
        ({"size": {"longest_edge": 500}}, "it must be a number, shortest_edge"),
        ({"size": 224, "crop_size": 256}, "crop_size 256; it must be within the size, 224×224"),
        ({"image_std": [0, 1, 1]}, "image_std"),
        ({"image_mean": [True, 1, 1]}, "image_mean"),
    ],
)
def test_what_makes_no_sense_is_refused(told, words):
    with pytest.raises(DataError, match=words):
        onnx_options(told, "x")


def test_a_view_knows_its_filters():
    with pytest.raises(ParameterError, match="resample is one of 'nearest'"):
        View((8, 8), resample="cubic")
    image = Image.fromarray(PICTURE)
    assert fit_image(image, View((60, 60), fit="cut")).size == (60, 60)
    assert fit_image(image, View((20, 90), fit="cut")).size == (90, 20)
