"""A gallery on a PostgreSQL server: its page, two clients at once, and the server killed in the middle of a change."""

from __future__ import annotations

import atexit
import os
import random
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import pictures
from fuzz.area import Area, Wrong, register
from fuzz.areas.web import Web, some_requests
from fuzz.healthy import DIM, vectors_of
from fuzz.place import Place
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery, building
from lab.bench.postgres_server import PostgresServer


@register("server", about="a gallery on a PostgreSQL server, which is killed", share=20)
class Server(Area):
    starts_processes = True

    def load(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="kcrc-pg-", dir="/tmp", ignore_cleanup_errors=True)
        self.server = PostgresServer(Path(self.folder.name))
        self.server._log = Path(os.devnull)  # which a case may open
        atexit.register(self.server.kill)
        self.server.start()
        self.made = 0

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        self.made += 1
        address = self.server.address(gallery=f"g{self.made}")
        vectors, labels = vectors_of(4)
        with building(address, dim=DIM) as gallery:
            gallery.add(labels, vectors)
        return {"address": address, "seeds": [rng.randrange(10**9) for _ in range(2)], "wait": rng.uniform(0, 0.15)}

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        """Two clients write until the server is killed; what was acknowledged is there afterwards, and nothing else."""
        address, said, problems = planted["address"], [dict[int, str](), dict[int, str]()], list[str]()
        doubtful: list[bool] = [False, False]

        def write(number: int) -> None:
            values = np.random.default_rng(planted["seeds"][number])
            try:
                with Gallery.open(address) as gallery:
                    for act in range(50):
                        doubtful[number] = True
                        added = gallery.add(f"class {number}", values.standard_normal((2, DIM)))
                        said[number] |= dict.fromkeys(map(int, added.ids), f"class {number}")
                        if act % 3 == 2:
                            example = next(iter(said[number]))
                            gallery.remove([example])
                            del said[number][example]
                        doubtful[number] = False
            except KCRCError:
                return
            except Exception as problem:
                problems.append(repr(problem))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        threads[0].join(planted["wait"])
        self.server.kill()
        self.server.start()
        for thread in threads:
            thread.join()
        if problems:
            raise Wrong(problems[0])
        with Gallery.open(address) as gallery:
            if gallery.verify().problems:
                raise Wrong(f"damaged: {gallery.verify().problems}")
            have = {row.id: row.label for row in gallery.contents.rows}
            for number, acknowledged in enumerate(said):
                missing = {example for example, label in acknowledged.items() if have.get(example) != label}
                # Of the act that the kill cut off, nothing is known: two examples more, or the removal of one.
                beyond = {e for e, label in have.items() if label == f"class {number}"} - set(acknowledged)
                if len(missing) > doubtful[number] or len(beyond) > 2 * doubtful[number]:
                    raise Wrong(f"client {number}: {missing} are missing, {beyond} were never acknowledged")


@register("server page", about="the page of a gallery on a PostgreSQL server", share=60)
class ServerPage(Web):
    starts_processes = True

    def load(self) -> None:
        super().load()
        self.pg = Server(self.samples)
        self.pg.load()

    def plant(self, place: Place, rng: random.Random) -> list[dict[str, Any]]:
        address = self.pg.server.address(gallery="page")
        try:
            Gallery.open(address).close()
        except KCRCError:
            Gallery.from_folder(self.samples / "photos", address, feature="pixels").close()
        pictures.hostile(rng)
        self.serve(Gallery.open(address), rng)
        return some_requests(rng)
