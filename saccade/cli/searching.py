"""How to search, as options of a command: each set of them makes one value, which the command takes."""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from saccade import ranges
from saccade.errors import UserError
from saccade.files import parse_json

if TYPE_CHECKING:
    from saccade.decode import Constraints, Search, Translator
    from saccade.decode.ensemble import Average

REPEATS = 8  # an endless loop says the same nine times in a row; a text that is right hardly does
SEARCH, DRAWS, FORM, WORDS, MODELS = "Search", "Samples", "Form", "Words to keep or bar", "Ensemble"


def _option(panel: str, said: str, *names: str, within: Any = None) -> Any:
    """`within` is the type, with its range, of the field that the option sets."""
    range_ = f" {str(ranges.range_of(within)).capitalize()}." if within is not None else ""
    return typer.Option(*names, help=said + range_, rich_help_panel=panel)


Beam = Annotated[int | None, _option(SEARCH, "Hypotheses kept: 5 unless said, 1 is greedy.", within=ranges.Beam)]
LengthPenalty = Annotated[
    float, _option(SEARCH, "α of Wu 2016: above 0, longer translations lose less.", within=ranges.Exponent)
]


def takes(**makers: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`@takes(how=search_options)`: instead of a parameter `how`, the command has the options that make it."""

    def of(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        asked = {name: inspect.signature(maker).parameters for name, maker in makers.items()}
        own = [parameter for name, parameter in signature.parameters.items() if name not in makers]
        every = [*own, *(parameter for options in asked.values() for parameter in options.values())]

        @wraps(command)
        def run(**given: Any) -> None:
            made = {n: make(**{option: given.pop(option) for option in asked[n]}) for n, make in makers.items()}
            command(**given, **made)

        run.__dict__["__signature__"] = signature.replace(parameters=every)
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return run

    return of


def search_options(
    beam: Beam = None,
    n_best: Annotated[
        int, _option(SEARCH, "The N best of each line, as: line TAB score TAB text.", within=ranges.Beam)
    ] = 1,
    length_norm: Annotated[str, _option(SEARCH, "Scores by length: wu (Wu 2016), mean, or none.")] = "wu",
    length_penalty: LengthPenalty = 1.0,
    coverage_penalty: Annotated[
        float, _option(SEARCH, "β of Wu 2016: what was not looked at costs.", within=ranges.NotNegative)
    ] = 0.0,
    groups: Annotated[
        int, _option(SEARCH, "Of a diverse beam: the hypotheses in so many, each unlike the rest.", within=ranges.Beam)
    ] = 1,
    diversity: Annotated[
        float, _option(SEARCH, "What a group pays for a piece that another wrote.", within=ranges.NotNegative)
    ] = 0.5,
    sample: Annotated[bool, _option(DRAWS, "Draw translations at random instead.", "--sample")] = False,
    temperature: Annotated[float, _option(DRAWS, "Below 1 the likely get likelier.", within=ranges.Temperature)] = 1.0,
    top_k: Annotated[int | None, _option(DRAWS, "Draw among the K most probable pieces.", within=ranges.Count)] = None,
    top_p: Annotated[
        float, _option(DRAWS, "Draw among the fewest that hold this much probability.", within=ranges.UpToOne)
    ] = 1.0,
    min_p: Annotated[
        float, _option(DRAWS, "Draw among those at least so probable beside the best.", within=ranges.Probability)
    ] = 0.0,
    seed: Annotated[int, _option(DRAWS, "The same one draws the same.", within=ranges.Seed)] = 1,
    no_repeat: Annotated[int | None, _option(FORM, "Let no run of N pieces come twice.", within=ranges.Length)] = None,
    repeats: Annotated[
        int,
        _option(
            FORM, "Let nothing be said more than N times in a row; 0: as often as it likes.", within=ranges.LengthOrZero
        ),
    ] = REPEATS,
    shortest: Annotated[int, _option(FORM, "Pieces written at least.", within=ranges.LengthOrZero)] = 0,
    shortest_ratio: Annotated[
        float, _option(FORM, "The same, for each piece of the source.", within=ranges.Ratio)
    ] = 0.0,
    longest: Annotated[int | None, _option(FORM, "Pieces written at most, with the end.", within=ranges.Length)] = None,
    longest_ratio: Annotated[
        float, _option(FORM, "The same, for each piece of the source; 10 more are free.", within=ranges.Ratio)
    ] = 2.0,
) -> "Search":
    return searching(**locals())


def searching(
    beam: int | None, length_penalty: float, n_best: int = 1, repeats: int = REPEATS, **others: Any
) -> "Search":
    from saccade.decode import Search

    least = n_best if others.get("sample") else max(5, n_best)
    groups = max(1, others.get("groups", 1))
    try:
        beam = -(-least // groups) * groups if beam is None else beam
        return Search(beam=beam, length_penalty=length_penalty, n_best=n_best, repeats=repeats, **others)
    except ranges.OptionError as error:
        raise UserError(f"--{error.field.replace('_', '-')} {error.message}") from error


class Asked(NamedTuple):
    """Constraints for every line, or a file with those of each."""

    every: "Constraints | None"
    file: Path | None

    def of_lines(self, count: int | None) -> "Constraints | Iterator[Constraints | None] | None":
        """A file is read through before, so that a mistake in its last line is not found after hours of work."""
        if self.file is None:
            return self.every
        lines = sum(1 for _ in read_constraints(self.file))
        if count is not None and lines != count:
            raise UserError(f"{self.file}: {lines} lines, for {count} to translate; expected as many")
        return read_constraints(self.file)


def constraint_options(
    prefix: Annotated[str, _option(WORDS, "Begin every translation with exactly this.")] = "",
    outline: Annotated[str, _option(WORDS, 'Keep this, complete it at each …: "le … dort".')] = "",
    include: Annotated[list[str] | None, _option(WORDS, "A phrase that must be said; may be repeated.")] = None,
    exclude: Annotated[list[str] | None, _option(WORDS, "A phrase that must not; may be repeated.")] = None,
    constraints: Annotated[
        Path | None,
        _option(WORDS, 'The same for each line, as JSON: {"include": ["cat"], "exclude": [], "prefix": ""}; or blank.'),
    ] = None,
) -> Asked:
    from saccade.decode import Constraints

    try:
        every = Constraints(prefix=prefix, outline=outline, include=tuple(include or ()), exclude=tuple(exclude or ()))
    except ranges.OptionError as error:
        raise UserError(f"--{error.field} {error.message}") from error
    if every == Constraints():
        return Asked(None, constraints)
    if constraints is not None:
        raise UserError(f"--constraints {constraints} has them for each line; give it alone, without others for all")
    return Asked(every, None)


def read_constraints(file: Path) -> "Iterator[Constraints | None]":
    from saccade.data.text_files import line_error, read_lines
    from saccade.decode import Constraints

    for number, line in enumerate(read_lines(file), 1):
        try:
            yield Constraints.from_json(parse_json(line)) if line.strip() else None
        except (ValueError, UserError) as error:
            raise line_error(file, number, str(error)) from None


class Members(NamedTuple):
    folders: list[Path]
    average: str
    weights: tuple[float, ...]

    def load(self, model: Path, device: str) -> "Translator":
        from saccade.decode import combine, load
        from saccade.device import limit_threads

        if not self.folders:
            translator = load(model, device=device)
        else:
            loaded = {str(folder): load(folder, device=device) for folder in [model, *self.folders]}
            translator = combine(loaded, average=cast("Average", self.average), weights=self.weights)
        limit_threads(translator.model)
        return translator


def ensemble_options(
    ensemble: Annotated[list[Path] | None, _option(MODELS, "Another model to translate with; may be repeated.")] = None,
    average: Annotated[
        str, _option(MODELS, "Of their probabilities, or of their log-probabilities.")
    ] = "probabilities",
    weights: Annotated[str, _option(MODELS, "Of each model, the first one first: 0.7,0.3; else all the same.")] = "",
) -> Members:
    try:
        return Members(ensemble or [], average, tuple(map(float, filter(None, weights.split(",")))))
    except ValueError:
        raise UserError(f"--weights {weights}: expected a number for each model, such as 0.7,0.3") from None
