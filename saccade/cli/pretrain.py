"""`saccade pretrain`: from texts to a model that training on pairs starts from."""

from saccade.cli.options import Json, command
from saccade.cli.train import report
from saccade.train.pretraining import PretrainingRequest, pretrain_model


@command
def pretrain(*, request: PretrainingRequest, as_json: Json = False) -> None:
    """Train a model to restore corrupted texts, before it is trained on pairs.

    Then `saccade train pairs.tsv --init-from FOLDER` starts from it. With few pairs and many texts in the target
    language, translations become better.

    Example: [bold]saccade pretrain mono.en --pairs pairs.tsv --out pretrained --budget 30m[/]
    """
    report(pretrain_model(request), as_json)
