"""Examples larger than memory, under a hard limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcrc.report.tables import Table
from lab.bench.scale.sections import Piece

TITLE = "Larger than memory"


def pieces(measured: dict[str, Any]) -> Sequence[Piece]:
    steps = measured["steps"]
    read = next(step["seconds"] for step in steps if step["step"] == "read the examples once")
    most, base, data = max(step["memory"] for step in steps), measured["base"], measured["data"]
    bytes_each = (most - base) / measured["n"]
    rows = [
        [s["step"], f"{s['seconds']:.2f} s", f"{s['seconds'] / read:.2f}", f"{1e-6 * s['memory']:.0f}"] for s in steps
    ]
    shown = Table("mapped", "", ["step", "time", "/ reading all once", "peak MB"], rows)
    return [
        "```python\n"
        "import numpy as np\n"
        "from kcrc import KCRCClassifier\n\n"
        'X = np.load("examples.npy", mmap_mode="r")  # float16, float32 or float64\n'
        "clf = KCRCClassifier().fit(X, y)\n"
        "```",
        "A mapped array of these types, in C order, stays in its file: it is not copied, and it must not change while "
        "the classifier is used. (Any other becomes an array in memory.) Whatever needs all examples (checks, the "
        "metric, the codes, the search) reads them block by block; solving the problem of one query reads only its K "
        "neighbours. The search is exact: with the same parameters, the answers are the same as with the examples in "
        "memory.",
        "What is made of the examples and is as large as they are goes into temporary files: the eight-bit codes that "
        "the search reads (one byte per value), and the examples again, in single precision, if a metric changes them. "
        "The folder for temporary files (`TMPDIR`) has to be on a disk: in one that the system keeps in memory "
        "(`tmpfs`), nothing is gained.",
        "**What is learned** from examples that are larger than `memory_budget` (parameters you did not give, the "
        "metric, how sure answers are) is learned from a sample of at most 10,000 of them, chosen by row number. The "
        "search uses all examples, and so does every answer. Probabilities are calibrated on the answers that the "
        "sample alone gives, where the examples are less dense than in the real search. `audit` and `advise` look at "
        "the sample only. Dictionaries of all such examples or of whole classes, matrices computed beforehand, and "
        "the approximate searches, which keep a copy of their own, are refused.",
        "**Adding** the first examples copies all to a temporary file with an eighth to spare; those that follow write "
        "only themselves until that is used up. After **forgetting**, the next query writes the temporary files again, "
        "and they contain nothing of the forgotten examples. Forget many at once: it takes as long as forgetting one. "
        "Your own file is never written to, so what must be gone for good has to be removed from it too.",
        "**The temporary files have no name**, so nobody else can open, shorten or change them, and if the process is "
        "killed nothing is left behind. A full disk is reported before anything is written. To keep a classifier, "
        '`save` it, and load it with `KCRCClassifier.load(path, mmap_mode="r")`; neither needs the examples in memory.',
        f"**Under a hard limit.** {measured['n']:,} examples of {measured['width']} numbers in {measured['dtype']} "
        f"({1e-6 * data:,.0f} MB) were used by a process that may allocate no more than "
        f"{1e-6 * measured['limit']:,.0f} MB (`RLIMIT_DATA`; without examples it needs {1e-6 * base:.0f} MB), with "
        f"`memory_budget` {1e-6 * measured['budget']:.0f} MB and K = {measured['k']}. Its peak was "
        f"{1e-6 * most:.0f} MB: "
        f"{bytes_each:.0f} bytes per example more than at the start, while an example has "
        f"{data / measured['n']:.0f} bytes.",
        shown,
        f"Of {measured['checked']} queries, {measured['with_right_neighbours']} had exactly the neighbours that "
        f"measuring all examples in double precision gives. With {measured['compared_n']:,} examples, where both ways "
        f"fit, {measured['different']} of {measured['compared']:,} labels (before and after adding and forgetting) "
        f"differ from those with the examples in memory. Of the forgotten examples, {measured['found_again']} were "
        "found again.",
    ]
