"""`saccade study`: the claims of the papers, tested by runs."""

from typing import Annotated

import typer

import saccade.study
from saccade.cli.console import bar, print_entry, print_table, put, say, show, to_json
from saccade.cli.options import Json, command_without_models
from saccade.errors import UserError
from saccade.study.options import StudyOptions

Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Studies that --list lists.")]


@command_without_models
def study(
    names: Names = None,
    lists: Annotated[bool, typer.Option("--list", help="List the studies with their claims, and run nothing.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Run all studies.")] = False,
    as_json: Json = False,
    *,
    options: StudyOptions,
) -> None:
    """Test claims of papers: each study states a claim and thresholds, trains on built-in data, and answers.

    The same command continues an interrupted study.

    Example: [bold]saccade study word-order --quick[/]
    """
    studies = saccade.study.list_studies() if lists or every or not names else []
    if lists:
        _list(studies, as_json)
        return
    if every and names:
        raise UserError(f"--all runs every study; leave {' '.join(names)} out")
    if not every and not names:
        raise UserError(f"which study? Give --all, or names: {', '.join(each.name for each in studies)}")
    chosen = [each.name for each in studies] if every else list(dict.fromkeys(names or ()))
    results = []
    for result in saccade.study.run_studies(chosen, options, bar=bar):
        results.append(result.to_dict())
        if not as_json:
            for table in saccade.study.terminal_tables(result):
                show(table.title)
                print_table(table.columns, [[_cell(cell) for cell in row] for row in table.rows], wrap=True)
        say(f"page: {saccade.study.folder_of(result.study.name, options) / 'page.html'}")
    if as_json:
        put(to_json(results, indent=1))
    elif len(results) > 1:
        print_table(["study", "result"], [[result["study"], result["answer"]] for result in results])


def _cell(cell: str | float | None) -> str:
    return "–" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _list(studies: list[saccade.study.Study], as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "name": each.name,
                "title": vars(each.title),
                "paper": each.paper,
                "claim": vars(each.claim),
                "thresholds": [vars(threshold.text) for threshold in each.thresholds],
            }
            for each in studies
        ]
        put(to_json(rows))
        return
    for each in studies:
        print_entry(each.name, each.title.en, each.paper)
