"""Runs the examples and makes their page: python examples/show.py [NAME ...] writes pictures and docs/examples.md.

Each ``plot_*.py`` is a script as a reader would write it. Its docstring is the text, its last figure the picture.
Beside the pictures, ``made-of.txt`` says of which sources each was drawn.
"""

from __future__ import annotations

import ast
import hashlib
import runpy
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PICTURES = DOCS / "pictures" / "examples"
STYLE = HERE.parent / "src" / "kcrc" / "files" / "style.mplstyle"
STAMPS = PICTURES / "made-of.txt"


def names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("plot_*.py"))


def run(name: str, picture: Path | None) -> None:
    """Run one example as if by itself; its figure goes to ``picture``."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.style.context("default"), warnings.catch_warnings():
        warnings.simplefilter("error")
        shown, plt.show = plt.show, lambda: None
        try:
            runpy.run_path(str(HERE / f"{name}.py"), run_name="__main__")
            figure = plt.gcf()
            if not figure.axes:
                raise RuntimeError(f"{name} drew nothing.")
            if picture is not None:
                picture.parent.mkdir(parents=True, exist_ok=True)
                figure.savefig(picture, metadata={"Software": None})
        finally:
            plt.show = shown
            plt.close("all")


def digest(name: str) -> str:
    """The SHA-256 over the source of an example and the style: a picture drawn of others is one of another example."""
    return hashlib.sha256((HERE / f"{name}.py").read_bytes() + b"\0" + STYLE.read_bytes()).hexdigest()


def stamps() -> dict[str, str]:
    """The digest that each picture was drawn of, by the name of its example."""
    lines = STAMPS.read_text("utf-8").splitlines() if STAMPS.exists() else []
    return dict(line.split() for line in lines)


def stamp(name: str) -> None:
    """Note that the picture of an example was drawn of its source as it is."""
    known = {**stamps(), name: digest(name)}
    STAMPS.write_text("".join(f"{each} {known[each]}\n" for each in names() if each in known), "utf-8")


def page() -> str:
    """docs/examples.md, from the sources of the examples."""
    parts = [
        "# Examples\n\n<!-- Made by `python examples/show.py`; do not edit by hand. -->\n\n"
        "Each example is a script in `examples/` that you can run on its own, for instance\n"
        "`python examples/plot_looks.py`. It needs matplotlib (`pip install '.[plots]'`).\n"
        "`make examples` runs all of them and makes the pictures on this page."
    ]
    for name in names():
        source = (HERE / f"{name}.py").read_text("utf-8")
        tree = ast.parse(source)
        title, _, text = (ast.get_docstring(tree) or "").partition("\n")
        text = text.lstrip("=\n")
        body = source.split('"""', 2)[2].lstrip("\n")
        picture = f"![{title}](pictures/examples/{name}.png)"
        parts.append(f"## {title}\n\n{text.strip()}\n\n{picture}\n\n```python\n{body}```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or names():
        print(name, flush=True)
        run(name, PICTURES / f"{name}.png")
        stamp(name)
    (DOCS / "examples.md").write_text(page(), "utf-8")
