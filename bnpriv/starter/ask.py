"""Which notion is meant: three questions, on a terminal only."""

from __future__ import annotations

import sys
from typing import TextIO

from bnpriv.errors import ParameterError
from bnpriv.starter.started import StartedNotion

DEFAULT_NOTION: StartedNotion = "dataset"

ASK_SINGLE = "Must it stay hidden whether a single person is in the table, or what one record holds? [y/n] "
ASK_THIS = "Must a share or a mean of a column in this very table stay hidden? [y/n] "
ASK_BEHIND = "Must the law behind the table stay hidden, as how common an illness is where it comes from? [y/n] "

LONGEST_ASKED = 3


def asked_notion() -> StartedNotion | None:
    """Ask for the notion on a terminal; None, without a question, anywhere else.

    Raises
    ------
    ParameterError
        If neither notion is meant.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    if _yes(ASK_SINGLE, sys.stdin, sys.stderr):
        raise ParameterError(
            "attribute privacy hides a property of a column, never a single record",
            found="single records to be hidden",
            remedy="Use differential privacy for that, for example OpenDP (docs.opendp.org).",
        )
    if _yes(ASK_THIS, sys.stdin, sys.stderr):
        return "dataset"
    if _yes(ASK_BEHIND, sys.stdin, sys.stderr):
        return "distributional"
    raise ParameterError(
        "something must be hidden",
        found="three times no",
        remedy="Publish the answer, or read docs/choosing-a-notion.md.",
    )


def _yes(question: str, answers: TextIO, shown: TextIO) -> bool:
    for _ in range(LONGEST_ASKED):
        print(question, end="", file=shown, flush=True)
        answer = answers.readline().strip().lower()
        if answer in ("y", "yes", "n", "no"):
            return answer.startswith("y")
    raise ParameterError("a question is answered y or n", found="something else", remedy="Pass --notion instead.")
