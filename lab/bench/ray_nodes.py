"""Several Ray nodes on this machine, each with one core: machines that can be lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from kcrc.scale.engines.on_ray import OnRay, load_ray

MEMORY = 1 << 30  # bytes of each node's object store


class Nodes:
    """An engine over a head node and others, which may be lost."""

    def __init__(self, cluster: Any, others: list[Any]) -> None:
        self._cluster, self._others = cluster, others
        self.engine = OnRay()

    def lose_one(self) -> None:
        """A machine is gone, with all that ran on it."""
        self._cluster.remove_node(self._others.pop(), allow_graceful=False)

    def lose_actor(self, held: Any) -> None:
        """The process that holds the first object is gone."""
        load_ray().kill(held.actors[0], no_restart=False)


@contextlib.contextmanager
def running(nodes: int) -> Iterator[Nodes]:
    """So many nodes; ended with the block."""
    ray = load_ray(alone=True)
    from ray.cluster_utils import Cluster

    one: dict[str, Any] = {"num_cpus": 1, "object_store_memory": MEMORY}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**one, "include_dashboard": False})
    try:
        others = [cluster.add_node(**one) for _ in range(nodes - 1)]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
        yield Nodes(cluster, others)
    finally:
        ray.shutdown()
        cluster.shutdown()
