"""Several at once: processes that write and read one gallery, and threads that change one classifier."""

from __future__ import annotations

import copy
import json
import os
import random
import threading
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.area import Area, Wrong, register
from fuzz.healthy import DIM, vector_gallery
from fuzz.place import Place
from kcrc import KCRCClassifier
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery, verify
from kcrc.gallery.contract import Snapshot

WRITERS, READERS, ACTS = 2, 4, 3


@register("writers", about="two writers and four readers of one gallery", share=60)
class Writers(Area):
    starts_processes = True

    def prepare(self) -> None:
        vector_gallery(self.samples / "g.kcrc", tuned=False)

    def plant(self, place: Place, rng: random.Random) -> list[int]:
        place.name("g.kcrc", "said-*").write_bytes((self.samples / "g.kcrc").read_bytes())
        return [rng.randrange(10**9) for _ in range(WRITERS + READERS)]

    def use(self, place: Place, planted: list[int]) -> None:
        path = place.folder / "g.kcrc"
        children = {
            _forked(write if number < WRITERS else look, path, seed, place.folder / f"said-{number}"): number
            for number, seed in enumerate(planted)
        }
        failed = [number for child, number in children.items() if os.waitpid(child, 0)[1]]
        said = {number: (place.folder / f"said-{number}").read_text() for number in children.values()}
        if failed:
            raise Wrong("\n".join(said[number] for number in failed))
        verdict = verify(path)
        if verdict.problems:
            raise Wrong(f"after two writers: {verdict.problems}")
        with Gallery.open(path, readonly=True) as gallery:
            have = {row.id: row.label for row in gallery.contents.rows}
            for number in range(WRITERS):
                for line in said[number].splitlines():
                    example, label = json.loads(line)
                    if have.get(example) != label:
                        raise Wrong(f"writer {number} was told that example {example} is a {label!r}: {have}")


def _forked(work: Callable[[Path, random.Random], str], path: Path, seed: int, out: Path) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        out.write_text(work(path, random.Random(seed)))
        code = 0
    except BaseException:
        out.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def write(path: Path, rng: random.Random) -> str:
    """Add, relabel and remove examples of its own; the lines say what was acknowledged of those that stay."""
    mine: dict[int, str] = {}
    for _ in range(ACTS):
        try:
            with Gallery.open(path) as gallery:
                if mine and rng.random() < 0.3:
                    example = rng.choice(list(mine))
                    gallery.relabel([example], "heron")
                    mine[example] = "heron"
                elif mine and rng.random() < 0.2:
                    example = rng.choice(list(mine))
                    gallery.remove([example])
                    del mine[example]
                else:
                    label, vectors = rng.choice(["wren", "robin", "new"]), np.random.default_rng(rng.getrandbits(32))
                    added = gallery.add(label, vectors.standard_normal((rng.choice([1, 3]), DIM)))
                    mine |= dict.fromkeys(map(int, added.ids), label)
        except KCRCError:  # the other one is writing
            continue
    return "".join(json.dumps(pair) + "\n" for pair in mine.items())


def _sizes(gallery: Gallery, _: Snapshot) -> tuple[int, dict[str, int], int]:
    """How many examples there are, in three ways of asking, at one moment."""
    return len(gallery.contents.rows), gallery.counts, len(gallery.vectors()[0])


def look(path: Path, rng: random.Random) -> str:
    """Each look is of one state."""
    for _ in range(ACTS):
        try:
            with Gallery.open(path, readonly=True) as gallery:
                rows, counts, vectors = gallery.read(partial(_sizes, gallery))
                if rows != sum(counts.values()) or rows != vectors:
                    raise Wrong(f"{rows} examples, {counts}, {vectors} vectors")
                gallery.example(int(rng.choice(gallery.contents.ids.tolist())))
                if rng.random() < 0.3:
                    gallery.classifier().predict(gallery.vectors()[1][:3])
        except KCRCError:
            continue
    return ""


_OPTIONS = {
    "n_neighbors": 7, "scaling": "plain", "kernel": "rbf", "gamma": 0.1, "mu": 0.01, "form": "rkhs",
    "decision": "ratio", "locality": "atoms", "n_jobs": 1,
}  # fmt: skip


@register("threads", about="four threads that change one classifier", share=400)
class Threads(Area):
    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        return {"seeds": [rng.randrange(10**9) for _ in range(4)], "n": rng.choice([8, 40]), "d": rng.choice([1, 5])}

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        n, d = planted["n"], planted["d"]
        values = np.random.default_rng(planted["seeds"][0])
        options: dict[str, Any] = _OPTIONS
        made = KCRCClassifier(**options).fit(values.standard_normal((n, d)), np.arange(n) % 3)
        first, queries = made.model_.ids.copy(), values.standard_normal((5, d))
        grown, problems = [0] * 4, list[str]()

        def change(number: int) -> None:
            rng = random.Random(planted["seeds"][number])
            own = [int(one) for one in first[number::4]][1:]  # one of each stays: a classifier without examples is none
            try:
                for _ in range(12):
                    way = rng.randrange(5)
                    if way == 0:
                        count = rng.choice([1, 3])
                        made.partial_fit(values_of(rng, count, d), [rng.randrange(3)] * count)
                        grown[number] += count
                    elif way == 1 and own:
                        made.forget([own.pop()])
                        grown[number] -= 1
                    elif way == 2:
                        copied = copy.deepcopy(made)
                        if len(copied.model_.ids) != len(copied.model_.raw):
                            raise Wrong("a copy of a state that never was")
                    elif not np.isfinite(made.predict_proba(queries)).all():
                        raise Wrong("probabilities that are none")
            except Exception:
                problems.append(traceback.format_exc())

        threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model = made.model_
        if problems:
            raise Wrong(problems[0])
        if len(model.ids) != n + sum(grown) or len(set(model.ids.tolist())) != len(model.ids):
            raise Wrong(f"{len(model.ids)} examples; {n + sum(grown)} were due")
        fresh = KCRCClassifier(**options).fit(model.raw, made.classes_[model.labels])
        now, then = (np.nan_to_num(one.explain(queries).residuals, posinf=-1.0) for one in (made, fresh))
        if now.shape == then.shape and not np.allclose(now, then, rtol=1e-5, atol=1e-8):
            raise Wrong("not the answers of the same examples fitted at once")


def values_of(rng: random.Random, count: int, d: int) -> Any:
    return np.random.default_rng(rng.getrandbits(32)).standard_normal((count, d))
