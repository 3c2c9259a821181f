"""An ONNX file looked over before onnxruntime sees it: only what is known is let through.

A network file is a program by its maker. onnxruntime would open any file that a tensor names as the place of
its numbers, load operators of other domains from where it finds them, and loop for ever if told to. Here the whole file
is read by the tables of ``onnx_schema``: every field has to be known, of its kind and written in the one usual way,
stand once where it may stand once, and every tensor has to bring exactly the numbers it claims. So what passes

- names no other file: no external data in tensors, attributes, subgraphs, functions or a part for training;
- uses operators of ONNX itself that turn tensors into tensors, without loops, chance, text or files;
- claims no memory for weights beyond the bytes that are there, and is nested no deeper than ``DEEPEST``;
- is the same file to every reader: there is nothing to drop, merge, skip or read otherwise.

It does not say that the network is a good one, quick or free of faults. That is why it then runs apart
(``onnx_apart``).
"""

from __future__ import annotations

import math
from typing import Any

from kcrc.errors import DataError
from kcrc.images.network.onnx_schema import ATTRIBUTES, DOMAINS, MESSAGES, NUMBERS, OPERATORS, OUTSIDE, REFUSED, Known
from kcrc.images.network.protobuf import BYTES, FIXED32, FIXED64, fields, packed_count, read_packed

DEEPEST = 8  # graphs within graphs; real files have two or three levels
MOST_FIELDS = 500_000  # real files have some ten thousand; a second for each hundred thousand
_MOST_AXES, _LONGEST_AXIS = 16, (1 << 31) - 1
_LONGEST_TEXT = 1 << 20
_ANOTHER_FORMAT = b"ORTM"  # where onnxruntime looks for the mark of its own format, which is not Protocol Buffers

Message = dict[str, list[Any]]


def audit(content: bytes, source: str) -> None:
    """Raise a DataError that names ``source`` unless the bytes are an ONNX file with nothing but a network in it."""
    try:
        if content[4:8] == _ANOTHER_FORMAT:
            raise DataError("it is marked as a file of onnxruntime's own format; save it as ONNX")
        found = _Auditor().model(memoryview(content))
    except DataError as problem:
        raise DataError(f"{source} cannot be used as an ONNX file: {problem}.") from problem
    if not found:
        raise DataError(f"{source} is not an ONNX file: it holds no graph.")


class _Auditor:
    """Walks the messages of one file and counts their fields."""

    def __init__(self) -> None:
        self._fields = 0

    def model(self, raw: memoryview) -> bool:
        """True where there is a graph and all is well."""
        model = self._read(raw, "model")
        for opset in model.get("opset_import", []):
            self._read(opset, "opset")
        self._entries(model)
        for graph in model.get("graph", []):
            self._graph(graph, 0)
        return "graph" in model

    def _graph(self, raw: memoryview, depth: int) -> None:
        if depth > DEEPEST:
            raise DataError(f"graphs are nested more than {DEEPEST} deep")
        graph = self._read(raw, "graph")
        self._entries(graph)
        for node in graph.get("node", []):
            self._node(node, depth)
        for tensor in graph.get("initializer", []):
            self._tensor(tensor)
        for name in ("input", "output", "value_info"):
            for value in graph.get(name, []):
                self._value(value)
        for annotation in graph.get("quantization_annotation", []):
            for entry in self._read(annotation, "annotation").get("quant_parameter_tensor_names", []):
                self._read(entry, "entry")

    def _node(self, raw: memoryview, depth: int) -> None:
        node = self._read(raw, "node")
        self._entries(node)
        operator, domain = _text(node, "op_type"), _text(node, "domain")
        for attribute in node.get("attribute", []):
            self._attribute(attribute, operator, depth)
        if domain not in DOMAINS:
            raise DataError(
                f"it uses the operator {operator[:60]!r} of {domain[:60]!r}; only those of ONNX itself are run"
            )
        if operator not in OPERATORS:
            raise DataError(f"it uses the operator {operator[:60]!r}, which is not among those kcrc runs")

    def _attribute(self, raw: memoryview, operator: str, depth: int) -> None:
        attribute = self._read(raw, "attribute")
        for tensor in attribute.get("t", []):
            self._tensor(tensor)
        for graph in attribute.get("g", []):
            self._graph(graph, depth + 1)
            if operator != "If":
                raise DataError(f"the operator {operator[:60]!r} has a graph within it")
        held = ATTRIBUTES.get(attribute.get("type", [0])[0])
        if held is None or set(attribute) - {"name", "doc_string", "type", held}:
            raise DataError(f"an attribute of the operator {operator[:60]!r} is not of the type it claims")

    def _tensor(self, raw: memoryview) -> None:
        tensor = self._read(raw, "tensor")
        self._entries(tensor)
        if tensor.get("data_location", [0]) != [0]:
            raise DataError(OUTSIDE)
        kind = tensor.get("data_type", [0])[0]
        if kind not in NUMBERS:
            raise DataError(f"a tensor is of a type that is not run (number {kind})")
        dims = tensor.get("dims", [])
        if len(dims) > _MOST_AXES or max(dims, default=0) > _LONGEST_AXIS:
            raise DataError(f"a tensor has {len(dims)} axes of lengths up to {max(dims)}, more than are run")
        size, spelled = NUMBERS[kind]
        given = {name: tensor[name] for name in ("raw_data", *(n for _, n in NUMBERS.values())) if name in tensor}
        if set(given) - {"raw_data", spelled} or len(given) > 1:
            raise DataError("a tensor has its numbers in the wrong place, or in two")
        claimed = math.prod(dims) * size
        brought = len(given["raw_data"][0]) if "raw_data" in given else sum(map(sum, given.values())) * size
        if claimed != brought:
            raise DataError(f"a tensor claims {claimed} bytes of numbers and brings {brought}")

    def _value(self, raw: memoryview) -> None:
        value = self._read(raw, "value")
        self._entries(value)
        for kind in value.get("type", []):
            for tensor in self._read(kind, "type").get("tensor_type", []):
                for shape in self._read(tensor, "tensor type").get("shape", []):
                    for dimension in self._read(shape, "shape").get("dim", []):
                        self._read(dimension, "dimension")

    def _entries(self, message: Message) -> None:
        for entry in message.get("metadata_props", []):
            # onnxruntime can be told to take its settings from this entry, among them files to write.
            if _text(self._read(entry, "entry"), "key") == "ort_config":
                raise DataError("it brings settings for onnxruntime; save it without")

    def _read(self, raw: memoryview, kind: str) -> Message:
        """The fields of one message by name, each a list; what it holds is not gone into."""
        known, found = MESSAGES[kind], Message()
        for field, wire, value in fields(raw):
            self._fields += 1
            if self._fields > MOST_FIELDS:
                raise DataError(f"it has more than {MOST_FIELDS} fields")
            if field not in known:
                raise DataError(REFUSED.get((kind, field), f"it has a field {field} in a {kind} that is not known"))
            entry = known[field]
            if entry.name in found and not entry.many:
                raise DataError(f"it has '{entry.name}' twice in one {kind}")
            found.setdefault(entry.name, []).extend(_values(entry, wire, value))
        return found


def _values(entry: Known, wire: int, value: int | memoryview) -> list[Any]:
    """What a field holds: numbers, text or bytes as they are; of lists of numbers only how many."""
    if isinstance(value, int):
        if entry.kind in ("number", "varints"):
            return [value if entry.kind == "number" else 1]
    elif wire == BYTES:
        if entry.kind == "text":
            return [_checked_text(value, entry.name)]
        if entry.kind in ("bytes", "message"):
            return [value]
        if entry.many:
            return _unpack(entry, value)
    elif (wire, entry.kind) in ((FIXED32, "fixed32"), (FIXED64, "fixed64")):
        return [1]
    raise DataError(f"'{entry.name}' is not of its kind")


def _unpack(entry: Known, value: memoryview) -> list[Any]:
    if entry.kind == "number":
        if len(value) > 10 * _MOST_AXES:
            raise DataError(f"'{entry.name}' has more numbers than are run")
        return read_packed(value)
    if entry.kind == "varints":
        return [packed_count(value)]
    count, rest = divmod(len(value), 4 if entry.kind == "fixed32" else 8)
    if rest:
        raise DataError(f"'{entry.name}' ends within a number")
    return [count]


def _checked_text(value: memoryview, name: str) -> str:
    if len(value) > _LONGEST_TEXT:
        raise DataError(f"'{name}' is longer than {_LONGEST_TEXT} bytes")
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        raise DataError(f"'{name}' is not text") from None


def _text(message: Message, name: str) -> str:
    return str(message.get(name, [""])[0])
