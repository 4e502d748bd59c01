"""Command line: `python -m zoo list` shows the shipped checkpoints."""

import argparse

import rich.console
import rich.markup
import rich.table

import zoo


def main() -> None:
    """Prints the table of checkpoints."""
    parser = argparse.ArgumentParser(prog="python -m zoo", description=__doc__)
    parser.add_argument("command", choices=["list"])
    parser.parse_args()
    cards = zoo.list()
    # In the narrowest terminal too, a name is whole: it is what `zoo.load` takes.
    width = max((len(card["name"]) for card in cards), default=4)
    name = rich.table.Column("name", min_width=width, no_wrap=True)
    about = rich.table.Column("data, their licence, scores", overflow="fold")
    table = rich.table.Table(name, "parameters", "MB", about, show_lines=True)
    for card in cards:
        scores = [_told(score) for score in card.get("scores", [])]
        lines = [str(card.get(key, "unknown")) for key in ("data", "licence")] + scores
        texts = card["name"], f"{card['parameters']:,}", str(card["megabytes"]), "\n".join(lines)
        table.add_row(*map(rich.markup.escape, texts))
    rich.console.Console().print(table)


def _told(score):
    search = f", beam {score['beam_size']}, length penalty {score['length_penalty']}" if "beam_size" in score else ""
    return f"{score['value']:.2f} {score['metric']}, {score['data']}: {score['signature']}{search}"


if __name__ == "__main__":
    main()
