"""`saccade attentions`, `saccade models` and `saccade tasks`: what is built in."""

import saccade
from saccade.cli.console import print_entry, put, to_json
from saccade.cli.options import Json


def attentions(as_json: Json = False) -> None:
    """List the attentions, with their papers, formulas and parts.

    Example: [bold]saccade attentions --json[/]
    """
    rows = saccade.list_attentions()
    if as_json:
        put(to_json(rows))
        return
    for row in rows:
        parts = " · ".join(f"{part} {name}" for part, name in row["parts"].items())
        print_entry(row["name"], row["formula"], f"{row['origin'] or 'origin unknown'}\n{parts}")
    print_entry("", f"{len(rows)} attentions; in Python: ATTENTIONS[name](query_dim=…, memory_dim=…, width=…)")


def models(as_json: Json = False) -> None:
    """List the models, with their papers, sizes and the way they read; language models are the last ones.

    Example: [bold]saccade models --json[/]
    """
    rows = saccade.list_models()
    if as_json:
        put(to_json(rows))
        return
    for row in rows:
        sizes = ", ".join(f"{preset} {count / 1e6:.1f}M" for preset, count in row["parameters"].items())
        of = "two vocabularies" if row["reads_source"] else "a vocabulary"
        about = f"{row['year']}  {row['paper']}\nparameters with {of} of 8,000: {sizes}"
        side = "the source" if row["reads_source"] else "the words before"
        print_entry(row["name"], f"reads {side} through {row['reads']}", about)
    print_entry(
        "",
        "for labels (--kind classify or tag): recurrent, cheng2016, transformer, convolution or words, read by "
        "lin2017, mean, last or any attention, such as recurrent+lin2017",
    )


def tasks(as_json: Json = False) -> None:
    """List the built-in tasks, with one example each. Train on a task with `saccade train task:NAME`.

    Example: [bold]saccade tasks[/]
    """
    rows = saccade.list_tasks()
    if as_json:
        put(to_json(rows))
        return
    for row in rows:
        least, most = row["words"]
        about = f"{least} to {most} {row['unit']}{', each pair once' if row['finite'] else ''} · {row['origin']}"
        example = row["missing"] or f"{row['source']}  →  {row['target']}"
        print_entry(f"task:{row['name']}", row["summary"], about, example)
