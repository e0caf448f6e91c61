"""The options of `saccade translate --ray`."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from saccade.ranges import Checked, Count, OptionError, option

_ray: Callable[..., Any] = partial(option, group="Several machines (Ray)")


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(Checked):
    """How a corpus is distributed."""

    ray: bool = _ray(
        False,
        "Translate the parts of FILE (text, JSONL or Parquet) on Ray in parallel, into --out. Both may be URLs "
        "such as s3://bucket/name.",
    )
    ray_address: str | None = _ray(
        None,
        "The address of a running cluster, such as auto or 10.0.0.1:6379. By default, Ray is started on this machine.",
        metavar="ADDRESS",
    )
    replicas: Count | None = _ray(
        None, "Number of copies of the model that translate in parallel (default: one per GPU, or as the CPUs allow)."
    )
    replica_cpus: Count = _ray(1, "CPU cores per copy of the model.")
    part: Count = _ray(2048, "Lines that are translated and saved as a whole, rounded up to a multiple of --chunk.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in fields(self):
            if not self.ray and getattr(self, field.name) != field.default:
                raise OptionError(field.name, f"{getattr(self, field.name)}: applies only with --ray; give --ray, too")

    def lines_per_part(self, chunk: int) -> int:
        """A multiple of the chunk: texts that are translated together round together, and a part must give the same
        translations as the whole file."""
        return -(-self.part // chunk) * chunk
