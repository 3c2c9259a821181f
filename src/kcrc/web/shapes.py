"""The shapes of what is sent and answered, as OpenAPI writes them."""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
NUMBER: Shape = {"type": "number"}
WHOLE: Shape = {"type": "integer"}
FLAG: Shape = {"type": "boolean"}
LABEL: Shape = {"type": "string", "minLength": 1, "maxLength": 500}
PICTURE: Shape = {"type": "string", "minLength": 1, "maxLength": 1000, "description": "what an upload was named"}
CONFIDENCE: Shape = {"type": "string", "enum": ["ready", "learning"]}


def maybe(shape: Shape) -> Shape:
    return {"anyOf": [shape, {"type": "null"}]}


def some(shape: Shape, *, least: int = 0, most: int | None = None) -> Shape:
    limits = {"minItems": least} if least else {}
    return {"type": "array", "items": shape, **limits, **({} if most is None else {"maxItems": most})}


def fields(optional: dict[str, Shape] | None = None, /, **needed: Shape) -> Shape:
    return {"type": "object", "properties": {**needed, **(optional or {})}, "required": sorted(needed)}


def named(name: str) -> Shape:
    return {"$ref": f"#/components/schemas/{name}"}


IDS = some(WHOLE, least=1, most=500)
PICTURES = some(PICTURE, least=1, most=500)
CHANCES = some({"type": "array", "minItems": 2, "maxItems": 2, "items": {"anyOf": [TEXT, NUMBER]}})

SCHEMAS: dict[str, Shape] = {
    "Error": fields({"conflict": {"type": "object"}}, error=TEXT),
    "Verdict": fields(
        {"left_out": some(WHOLE), "act": WHOLE},
        picture=TEXT,
        revision=WHOLE,
        label=TEXT,
        probability=maybe(NUMBER),
        unknown=FLAG,
        why=maybe(TEXT),
        set=some(TEXT),
        likely=CHANCES,
        confidence=CONFIDENCE,
        how={"type": "string", "enum": ["coded", "unanimous", "nearest"]},
        search=TEXT,
        sentence=TEXT,
        runner_up=maybe(TEXT),
        support=NUMBER,
        exact_line=FLAG,
        parts=some(fields(id=WHOLE, label=TEXT, share=NUMBER, distance=NUMBER, source=TEXT, step_in=FLAG)),
        rest=fields(count=WHOLE, count_for=WHOLE, count_against=WHOLE, share_for=NUMBER, share_against=NUMBER),
        others=some(fields(id=WHOLE, label=TEXT)),
        tips=maybe(WHOLE),
        seconds=NUMBER,
    ),
    "Short": fields(label=TEXT, probability=maybe(NUMBER), unknown=FLAG),
    "Act": fields(
        {"duplicates": some(fields(picture=TEXT, id=WHOLE, label=TEXT))},
        act=maybe(WHOLE),
        sentence=TEXT,
        examples=some(WHOLE),
        revision=WHOLE,
        undo=maybe(TEXT),
        redo=maybe(TEXT),
    ),
}
