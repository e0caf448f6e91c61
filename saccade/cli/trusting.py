"""`--trust-code`: whether a model folder may name code outside Saccade, an option of every command that loads one."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from saccade.names import trusting_code

TrustCode = Annotated[
    bool,
    typer.Option(
        "--trust-code",
        help="Run models and attentions of your own (my_module:Class) that a model folder names; else it is refused.",
    ),
]


def with_trust_code(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one more option; whatever it loads is loaded with that trust."""
    signature = inspect.signature(command)
    own = inspect.Parameter("trust_code", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=TrustCode)

    @wraps(command)
    def run(*, trust_code: bool, **given: Any) -> None:
        with trusting_code(trust_code):
            command(**given)

    run.__dict__["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), own])
    run.__annotations__ = {**command.__annotations__, "trust_code": TrustCode}
    return run
