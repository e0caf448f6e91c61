"""From the fields of a dataclass to the options of a command, and the options that many commands share."""

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

import saccade
from saccade.cli.console import say, show
from saccade.decode.options import Search
from saccade.errors import UserError
from saccade.names import trusting_code
from saccade.ranges import (
    Help,
    OptionError,
    change_options,
    choices_of,
    convert_options,
    describe_option,
    field_hints,
    find_metadata,
    kinds_of,
    without_metadata,
)

Command = Callable[..., None]


class Only:
    """`Annotated[Search, Only("beam")]`: of the dataclass's fields, only these become options."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields


ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a trained model.")]
Device = Annotated[str, typer.Option(help="The device: auto, cpu, cuda or mps.")]
BatchTokens = Annotated[
    int | None,
    typer.Option(
        help="Tokens × hypotheses per batch (default: 8192 on a CPU, more on a GPU); fewer need less memory.",
        min=1,
    ),
]
BriefSearch = Annotated[Search, Only("beam", "length_penalty")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
TrustCode = Annotated[
    bool,
    typer.Option(
        "--trust-code",
        help="Allow a model folder to run code from outside Saccade (my_module:Class). Refused by default.",
    ),
]


def _print_version(requested: bool) -> None:
    if requested:
        show(f"saccade {saccade.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]


def common_options(version: Version = False) -> None:
    """The options of `saccade` itself."""


def command(function: Command, *, loads_models: bool = True) -> Command:
    """`function` as typer takes it. A parameter whose type is a dataclass becomes one option per field, with the name,
    type, default, range and help that the field declares; the function gets an instance of the dataclass.

    A field has the default of the parameter's default instance, or else its own. Only the options that were typed
    change it, through `with_options` where the dataclass has such a method. A command that `loads_models` also has
    `--trust-code`.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type[Any], Any, list[str]]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind: type[Any] = without_metadata(hints[name])
        if not dataclasses.is_dataclass(kind):
            parameters.append(_keyword(name, hints[name], parameter.default))
            continue
        default = None if parameter.default is inspect.Parameter.empty else parameter.default
        only = next((item.fields for item in get_args(hints[name])[1:] if isinstance(item, Only)), None)
        options = _parameters(kind, default, only)
        groups[name] = (kind, default, [option.name for option in options])
        parameters += options
    parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    if loads_models:
        parameters.append(_keyword("trust_code", TrustCode, False))

    def run(trust_code: bool = False, **values: Any) -> None:
        try:
            for name, (kind, default, fields) in groups.items():
                typed = {field: value for field in fields if _is_typed(value := values.pop(field))}
                typed = convert_options(kind, typed)
                values[name] = kind(**typed) if default is None else change_options(default, typed)
            with trusting_code(trust_code):
                function(**values)
        except OptionError as error:
            raise UserError(f"{flag(error.field)} {error.message}") from error
        except KeyboardInterrupt:
            say("saccade: interrupted")
            raise typer.Exit(1) from None

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


command_without_models = partial(command, loads_models=False)


def flag(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def _is_typed(value: Any) -> bool:
    return value is not None and value is not False and value != []


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parameters(cls: type[Any], default: Any, only: tuple[str, ...] | None) -> list[inspect.Parameter]:
    """One parameter per field, or per field of `only`, that has a Help."""
    parameters = []
    for field in dataclasses.fields(cls):
        hint = field_hints(cls)[field.name]
        help_ = find_metadata(hint, Help)
        if help_ is None or (only is not None and field.name not in only):
            continue
        value = field.default if default is None else getattr(default, field.name)
        option = _option(field.name, hint, help_, value)
        if value is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            parameters.append(_keyword(field.name, Annotated[_type(hint), option], inspect.Parameter.empty))
        else:
            parameters.append(_keyword(field.name, Annotated[_type(hint) | None, option], None))
    return parameters


def _option(name: str, hint: Any, help_: Help, default: Any) -> Any:
    """Where an option was not typed its value is None, so that its default is shown as a part of the text."""
    text = describe_option(hint)
    if not any(default is nothing for nothing in (None, dataclasses.MISSING, False)) and default not in ((), ""):
        text += f" [dim]\\[default: {default}][/dim]"
    if help_.argument:
        return typer.Argument(help=text, metavar=help_.metavar or name.upper(), show_default=False)
    choices = "|".join(str(choice) for choice in choices_of(hint) if choice is not None)
    metavar = help_.metavar or (choices if 0 < len(choices) <= 24 else None)  # the help names longer choices
    return typer.Option(
        *(help_.flags or (flag(name),)), help=text, metavar=metavar, show_default=False, rich_help_panel=help_.group
    )


def _type(hint: Any) -> Any:
    """The type that typer parses: of a union without None, or of a Literal whose values Python checks, a text."""
    kinds = [kind for kind in kinds_of(hint) if kind is not type(None)]
    if len(kinds) > 1 or get_origin(kinds[0]) is Literal:
        return str
    return list[get_args(kinds[0])[0]] if get_origin(kinds[0]) in (tuple, list) else kinds[0]  # type: ignore[misc]
