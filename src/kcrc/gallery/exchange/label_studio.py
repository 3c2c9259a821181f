"""Label Studio's JSON: a list of tasks, the label as the one choice of an annotation.

Written with ``/data/local-files/?d=NAME`` for the image, which Label Studio serves from its local storage. Read: that,
plain names, and uploads (whose names have eight digits before them); also its short form (JSON-MIN). An address is kept
as it is and never fetched. Of several annotations the last that was not cancelled counts; several choices are no label.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.gallery.exchange.columns import file_of
from kcrc.gallery.exchange.contract import IMAGE_NAMES, Labelled, Picture, read_json_file

MAKES_FOLDER = False
HAS_COLUMNS = False


def write(path: Path, rows: Sequence[Labelled], picture: Picture) -> int:
    tasks = [
        {
            "id": number,
            "data": {"image": f"/data/local-files/?d={quote(row.image)}", "sha256": row.sha256, "kcrc_id": row.id},
            "annotations": [
                {
                    "result": [
                        {
                            "from_name": "label",
                            "to_name": "image",
                            "type": "choices",
                            "value": {"choices": [row.label]},
                        }
                    ]
                }
            ],
        }
        for number, row in enumerate(rows, 1)
    ]
    with atomic_write(path) as file:
        file.write(json.dumps(tasks, indent=1).encode())
    return len(rows)


def read(path: Path, label_column: str | None = None) -> Iterator[Labelled]:
    tasks = read_json_file(path)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise FileError(f"'{path}' is not a list of Label Studio's tasks.")
    for number, task in enumerate(tasks, 1):
        data = task.get("data") if isinstance(task.get("data"), dict) else task
        image = next((data[name] for name in IMAGE_NAMES if isinstance(data.get(name), str)), "")
        digest = data.get("sha256")
        if not image and not isinstance(digest, str):
            raise FileError(f"Task {number} of '{path}' has no image: its data has it under 'image'.")
        yield Labelled(_label(task), file_of(image), digest.strip().lower() if isinstance(digest, str) else "")


def _label(task: dict[str, Any]) -> str:
    """The one choice; "" where there is none, or several."""
    annotations = task.get("annotations")
    if not isinstance(annotations, list):
        choice = task.get("choice", task.get("label"))
        return choice if isinstance(choice, str) else ""
    complete = [entry for entry in annotations if isinstance(entry, dict) and not entry.get("was_cancelled")]
    results = complete[-1].get("result") if complete else None
    labels: list[str] = []
    for result in results if isinstance(results, list) else []:
        value = result.get("value") if isinstance(result, dict) and result.get("type") == "choices" else None
        choices = value.get("choices") if isinstance(value, dict) else None
        labels += [choice for choice in choices if isinstance(choice, str)] if isinstance(choices, list) else []
    return labels[0] if len(labels) == 1 else ""
