"""What words mean, and long names in full."""

from __future__ import annotations

import math

from bnpriv.render.document import Facts, Items, Name, Section, fact
from bnpriv.render.text import visible
from bnpriv.report.values import Analysis
from bnpriv.report.words import DELTA, GLOSSARY, LAW, MU

SHORTEST = 18
"""Longer names are shortened somewhere on the page."""


def glossary_section(report: Analysis) -> Section:
    """Return what a reader may not have met before."""
    told = [told for row in report.attributes for told in (*row.columns, *([row.asked] if row.asked else []))]
    words = list(GLOSSARY)
    if report.laws is not None:
        words.append(LAW)
    if report.delta or any(math.isinf(float(each)) for each in told):
        words.append(DELTA)
    if any(each.mu is not None for each in told):
        words.append(MU)
    return Section(title="Words", blocks=(Facts(tuple(fact(*word) for word in words)),), id="words", folded=True)


def long_names_section(report: Analysis) -> Section | None:
    """Return long names in full: on paper and on a phone nobody can point at them."""
    names = () if report.network is None else report.network.attributes
    long = [name for name in names if len(visible(name)) > SHORTEST]
    if not long:
        return None
    most = max(map(len, long))
    return Section(
        title="Long names in full",
        blocks=(Items(tuple((Name(name, most * 10),) for name in long)),),
        id="names",
        folded=True,
    )
