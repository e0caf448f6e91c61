"""Translate a corpus on Ray Data: cut it into parts, translate each part on some replica, and join their outputs.

The rows of the Ray dataset are the parts, not the lines: a part knows the numbers of its lines, and its output has one
name, so that a part that Ray translates twice, because a worker or a machine was lost, is still there once.
"""

import dataclasses
import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch

from saccade.data.parts import InputPart, cut_lines, cut_rows
from saccade.data.storage import StoredFile
from saccade.decode.batch_sizes import choose_chunk
from saccade.decode.cluster.options import ClusterOptions
from saccade.decode.cluster.part_folder import PartFolder, join_parts
from saccade.decode.cluster.replica import CorpusJob, Replica, as_row
from saccade.decode.engines.options import EngineOptions
from saccade.decode.file_translation import FileTranslation, check_constraint_count, check_options, read_constraints
from saccade.decode.options import Constraints, FileOptions, RerankingOptions, Search
from saccade.decode.translator import Translator
from saccade.errors import Progress, UserError, count_up, plural, say
from saccade.journal import describe_command
from saccade.locking import locked
from saccade.names import is_stdin

_TABLE = ".parquet"
_OBJECT_STORE = 256 << 20  # bytes for Ray's objects on this machine: parts are described there, not stored
_PATIENCE = 10.0  # seconds for a connection
_INSTALL = "pip install 'saccade[ray]'"


def translate_corpus(
    translator: Translator,
    file: str,
    options: FileOptions,
    search: Search,
    constraints: Constraints,
    rerankers: RerankingOptions,
    engine: EngineOptions,
    cluster: ClusterOptions,
    *,
    device: str,
    folders: Sequence[Path],
    load: Callable[[str], Translator],
    trusts_code: bool,
    command: Mapping[str, Any],
    progress: Progress | None = None,
) -> None:
    """Translate `file` into `options.out` on the replicas, which `load` the model on a device. `translator` is the same
    model on this machine, which checks the options before Ray is started."""
    check_options(translator, options, constraints)
    FileTranslation(translator, options, search, rerankers, None)
    source, out = _check_places(file, options)
    _check_address(cluster.ray_address)
    _import_ray()  # a missing Ray is reported before the input is read
    is_table = source.name.lower().endswith(_TABLE)
    suffix = _output_suffix(source, out, options, is_table=is_table)
    with _locked(out), _connect(cluster) as ray:
        device = _choose_device(device, ray.cluster_resources())
        lines = cluster.lines_per_part(options.chunk or choose_chunk(torch.device(device)))
        parts = _cut(source, options, lines, is_table=is_table, suffix=suffix)
        command = {**command, "file": str(source), "--part": cluster.part, "--device": device}
        folder = out if out.is_folder() else StoredFile(f"{out}.parts")
        output = PartFolder(folder=folder, suffix=suffix, command=describe_command(command))
        job = CorpusJob(
            file=source,
            is_table=is_table,
            output=output,
            command=command,
            load=_Loader(load, device),
            folders=folders,
            engine=engine,
            trusts_code=trusts_code,
            options=options,
            search=search,
            constraints=constraints,
            rerankers=rerankers,
        )
        left = output.begin(parts, restart=options.restart)
        try:
            _translate_parts(job, parts, left, _plan_replicas(cluster, device, ray.cluster_resources()), progress)
        except BaseException:
            say(f"saccade: finished parts are saved in {folder}; the same command continues from there")
            raise
    if not out.is_folder():
        join_parts([output.file(part) for part in parts], out)
        output.remove()


def absolute_paths(options: Any) -> Any:
    """The options with absolute paths: workers have other working directories."""
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    changed = {name: _absolute(value) for name, value in values.items()}
    weights = values.get("rerank_weights")
    if weights is not None and Path(weights).is_file():
        changed["rerank_weights"] = str(Path(weights).absolute())
    return dataclasses.replace(options, **changed)


def _absolute(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_absolute, value))
    return value.absolute() if isinstance(value, Path) else value


@dataclasses.dataclass(frozen=True)
class _Loader:
    load: Callable[[str], Translator]
    device: str

    def __call__(self) -> Translator:
        return self.load(self.device)


def _check_places(file: str, options: FileOptions) -> tuple[StoredFile, StoredFile]:
    if is_stdin(file):
        raise UserError("--ray translates a file, of which workers read parts; give its path or its URL in place of -")
    if options.out is None:
        raise UserError("--ray needs --out, the path or the URL of the output")
    for name in ("heatmap", "plot", "tree"):
        if getattr(options, name):
            raise UserError(f"--{name} is for a file that is translated on one machine; leave out --ray, or --{name}")
    source, out = StoredFile(file).absolute, StoredFile(str(options.out)).absolute
    with source.open():  # a missing file is reported at once
        return source, out


def _output_suffix(source: StoredFile, out: StoredFile, options: FileOptions, *, is_table: bool) -> str:
    """The kind of the output: by its name, or that of the input if it is a folder."""
    is_objects = options.jsonl_in or source.name.lower().endswith((".jsonl", ".ndjson"))
    writes_table = is_table if out.is_folder() else out.name.lower().endswith(_TABLE)
    if writes_table and options.jsonl:
        raise UserError(f"{out}: a Parquet output has the fields of --jsonl as columns; leave out --jsonl")
    if writes_table and is_objects:
        raise UserError(f"{out}: objects cannot become Parquet, since they may differ; name it *.jsonl, with --jsonl")
    if is_table and options.jsonl:
        raise UserError(
            f"{source}: a Parquet input becomes Parquet or text; leave out --jsonl and name --out *.parquet"
        )
    return _TABLE if writes_table else ".jsonl" if options.jsonl else ".txt"


def _cut(source: StoredFile, options: FileOptions, lines: int, *, is_table: bool, suffix: str) -> list[InputPart]:
    rows = 0
    if is_table or suffix == _TABLE:
        from saccade.decode.cluster.tables import check_columns, open_table

        names, field = ["source"], "source"  # the column for the lines of a text
        if is_table:
            with open_table(source) as opened:
                rows, names, field = opened.metadata.num_rows, opened.schema_arrow.names, options.field
        check_columns(names, source, field, options.into, adds_columns=suffix == _TABLE)
    with source.open() as stream:
        parts = list(cut_rows(stream, rows, lines) if is_table else cut_lines(stream, source.url, lines))
    if options.constraints_file is not None:
        constraints = sum(1 for _ in read_constraints(options.constraints_file))
        check_constraint_count(options.constraints_file, constraints, sum(part.lines for part in parts))
    return parts


@contextmanager
def _locked(out: StoredFile) -> Iterator[None]:
    """Only one command at a time writes an output on this machine. Object stores have no locks."""
    if out.local is None:
        yield
        return
    with nullcontext() if out.is_folder() else locked(out.local):
        yield


def _check_address(address: str | None) -> None:
    """Refuse an address where nothing listens: Ray would try for minutes, and then end the process."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
        except OSError as error:
            raise _unreachable(address, error.strerror or error) from None


def _unreachable(address: str | None, reason: object) -> UserError:
    advice = "give the address of a cluster that `ray start --head` started, or none to start one here"
    return UserError(f"--ray-address {address}: cannot be reached: {reason}; {advice}")


def _import_ray() -> Any:
    # No reports about the use, and no messages of Ray's own processes between those of the command.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # A thread of Ray Data can outlive a failed run by seconds. Its next call would connect to a cluster again, or start
    # one, while the next run does so.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise UserError(f"--ray needs Ray Data ({error}); install it: {_INSTALL}") from None
    return ray


@contextmanager
def _connect(cluster: ClusterOptions) -> Iterator[Any]:
    """Ray, connected to the cluster of the options, to that of this process, or to a new one on this machine."""
    ray = _import_ray()
    if ray.is_initialized():
        yield ray
        return
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if cluster.ray_address is None:
            cpus = None if cluster.replicas is None else cluster.replicas * cluster.replica_cpus
            ray.init("local", num_cpus=cpus, include_dashboard=False, object_store_memory=_OBJECT_STORE, **quiet)
        else:
            ray.init(cluster.ray_address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _unreachable(cluster.ray_address, str(error).partition("\n")[0]) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _choose_device(device: str, resources: Mapping[str, float]) -> str:
    has_gpus = resources.get("GPU", 0) >= 1
    if device not in ("auto", "cpu", "cuda"):
        raise UserError(f"--device {device}: with --ray, each replica gets CPUs or one GPU; give auto, cpu or cuda")
    if device == "cuda" and not has_gpus:
        raise UserError("--device cuda: the cluster has no GPU; give --device cpu")
    return "cuda" if has_gpus and device != "cpu" else "cpu"


class _Replicas(NamedTuple):
    number: int
    cpus: int  # of each
    gpus: int


def _plan_replicas(cluster: ClusterOptions, device: str, resources: Mapping[str, float]) -> _Replicas:
    cpus, gpus = (int(resources.get(name, 0)) for name in ("CPU", "GPU"))
    count = cluster.replicas or min(cpus // cluster.replica_cpus, gpus if device == "cuda" else cpus)
    if count == 0:
        available = plural(cpus, "CPU")
        raise UserError(f"--replica-cpus {cluster.replica_cpus}: the cluster has {available}; give fewer per replica")
    return _Replicas(count, cluster.replica_cpus, int(device == "cuda"))


def _translate_parts(
    job: CorpusJob,
    parts: Sequence[InputPart],
    left: Sequence[InputPart],
    replicas: _Replicas,
    progress: Progress | None,
) -> None:
    import ray.data

    advance = count_up(progress, sum(part.lines for part in parts))
    advance(sum(part.lines for part in parts) - sum(part.lines for part in left))
    if not left:
        return
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    count = min(replicas.number, len(left))
    results = ray.data.from_items([as_row(part) for part in left], override_num_blocks=len(left)).map(
        Replica,
        fn_constructor_args=[job],
        # One replica is enough to begin, and idle ones are released: a lost machine need not be replaced.
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=count, initial_size=count),
        num_cpus=replicas.cpus,
        num_gpus=replicas.gpus,
    )
    try:
        for result in results.iter_rows():
            for message in result["messages"].splitlines():
                say(message)
            if result["error"]:
                raise UserError(result["error"])
            advance(int(result["lines"]))
    except ray.exceptions.RayError as error:
        raise UserError(f"Ray: {str(error).strip().splitlines()[-1]}") from error
