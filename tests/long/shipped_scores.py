"""Every shipped checkpoint has its card's files, answers and, on the whole dev set, score.

KERAS_TRANSFORMER_DATA=... python tests/long/shipped_scores.py classification/trec
"""

import argparse
import os
import sys

import zoo
from zoo.commands.checking import check


def main() -> int:
    known = [card["name"] for card in zoo.list()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all by default")
    failed = False
    for name in parser.parse_args().names or known:
        for result in check(name, os.environ["KERAS_TRANSFORMER_DATA"]):
            print(name, *result, flush=True)
            failed |= result.passed is False
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
