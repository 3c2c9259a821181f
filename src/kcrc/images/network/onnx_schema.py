"""What an ONNX file may hold: the fields of its messages, the types of its numbers, the operators it may use.

Everything else is refused by ``onnx_audit``. The fields are those of the ONNX format, versions 3 to 13 of its
intermediate representation, that the network of an image encoder needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "varints", "fixed32", "fixed64", "text", "bytes", "message"]


@dataclass(frozen=True, slots=True)
class Known:
    """A field that may be there: its name, what it holds, and whether it may stand more than once."""

    name: str
    kind: Kind
    many: bool = False


def _table(**known: str) -> dict[int, Known]:
    """``name="number kind"``; a ``*`` behind the kind where the field may stand more than once."""
    out = {}
    for name, described in known.items():
        field, kind = described.split()
        out[int(field)] = Known(name, kind.rstrip("*"), kind.endswith("*"))  # type: ignore[arg-type]
    return out


MESSAGES = {
    "model": _table(
        ir_version="1 number", producer_name="2 text", producer_version="3 text", domain="4 text",
        model_version="5 number", doc_string="6 text", graph="7 message", opset_import="8 message*",
        metadata_props="14 message*",
    ),
    "opset": _table(domain="1 text", version="2 number"),
    "entry": _table(key="1 text", value="2 text"),
    "graph": _table(
        node="1 message*", name="2 text", initializer="5 message*", doc_string="10 text", input="11 message*",
        output="12 message*", value_info="13 message*", quantization_annotation="14 message*",
        metadata_props="16 message*",
    ),
    "annotation": _table(tensor_name="1 text", quant_parameter_tensor_names="2 message*"),
    "node": _table(
        input="1 text*", output="2 text*", name="3 text", op_type="4 text", attribute="5 message*",
        doc_string="6 text", domain="7 text", overload="8 text", metadata_props="9 message*",
    ),
    "attribute": _table(
        name="1 text", f="2 fixed32", i="3 number", s="4 bytes", t="5 message", g="6 message", floats="7 fixed32*",
        ints="8 varints*", strings="9 bytes*", doc_string="13 text", type="20 number",
    ),
    "tensor": _table(
        dims="1 number*", data_type="2 number", float_data="4 fixed32*", int32_data="5 varints*",
        int64_data="7 varints*", name="8 text", raw_data="9 bytes", double_data="10 fixed64*",
        uint64_data="11 varints*", doc_string="12 text", data_location="14 number", metadata_props="16 message*",
    ),
    "value": _table(name="1 text", type="2 message", doc_string="3 text", metadata_props="4 message*"),
    "type": _table(tensor_type="1 message", denotation="6 text"),
    "tensor type": _table(elem_type="1 number", shape="2 message"),
    "shape": _table(dim="1 message*"),
    "dimension": _table(dim_value="1 number", dim_param="2 text", denotation="3 text"),
}  # fmt: skip

_OUTSIDE = "some of its weights lie in another file, which is never opened; save it as a single file"
_SPARSE = "it has sparse tensors; save it with plain ones"
_TYPES = "it has sequences, maps or optional values, which the network of an image has no use for"
_DEVICES = "it says on which devices to run; save it without"

REFUSED = {
    ("model", 20): "it has a part for training; save it for inference",
    ("model", 25): "it has functions of its own; save it with its functions written out (inlined)",
    ("model", 26): _DEVICES,
    ("graph", 15): _SPARSE,
    ("node", 10): _DEVICES,
    ("attribute", 10): "an operator has a list of tensors",
    ("attribute", 11): "an operator has a list of graphs",
    ("attribute", 14): _TYPES,
    ("attribute", 15): _TYPES,
    ("attribute", 21): "an attribute stands for one of a function",
    ("attribute", 22): _SPARSE,
    ("attribute", 23): _SPARSE,
    ("tensor", 3): "a tensor is one of several parts; save it in one",
    ("tensor", 6): "it has tensors of text",
    ("tensor", 13): _OUTSIDE,
    ("type", 4): _TYPES,
    ("type", 5): _TYPES,
    ("type", 7): _TYPES,
    ("type", 8): _SPARSE,
    ("type", 9): _TYPES,
}
"""Fields that ONNX knows and kcrc does not take, and why."""

OUTSIDE = _OUTSIDE

ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings"}
"""Types of attributes, and the field that holds the value."""

NUMBERS = {
    1: (4, "float_data"), 2: (1, "int32_data"), 3: (1, "int32_data"), 4: (2, "int32_data"), 5: (2, "int32_data"),
    6: (4, "int32_data"), 7: (8, "int64_data"), 9: (1, "int32_data"), 10: (2, "int32_data"), 11: (8, "double_data"),
    12: (4, "uint64_data"), 13: (8, "uint64_data"), 16: (2, "int32_data"),
}  # fmt: skip
"""Types of tensors: bytes of a number in ``raw_data``, and the field that holds the numbers where they are not raw."""

DOMAINS = ("", "ai.onnx")
"""Where operators may come from: ONNX itself."""

# Functions of tensors and nothing else. Not here: loops (they may not end), random numbers (the same picture has to
# give the same vector), text, sequences, decoders of image files, recurrent networks, losses.
_NAMES = """
Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil
Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf
IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu
Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor

BatchNormalization GroupNormalization InstanceNormalization LRN LayerNormalization LpNormalization
MeanVarianceNormalization RMSNormalization Hardmax LogSoftmax Softmax

Attention Conv ConvInteger ConvTranspose DeformConv DequantizeLinear DynamicQuantizeLinear Einsum Gemm MatMul
MatMulInteger QLinearConv QLinearMatMul QuantizeLinear RotaryEmbedding

AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool

ArgMax ArgMin CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
ReduceSum ReduceSumSquare TopK

AffineGrid CenterCropPad Compress Concat Constant ConstantOfShape DepthToSpace Dropout Expand EyeLike Flatten Gather
GatherElements GatherND GridSample If NonZero OneHot Pad Range Reshape Resize ScatterElements ScatterND Shape Size
Slice SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze Upsample
"""
OPERATORS = frozenset(_NAMES.split())
