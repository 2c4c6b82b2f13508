"""What is known of models that were drawn from a posterior: from what, how many, and what may lie beyond them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from bnpriv.errors import ParameterError

CONFIDENCE = 0.95
"""With which the share of the posterior beyond the draws is stated."""


@final
@dataclass(frozen=True, kw_only=True)
class TableFingerprint:
    """Hashes by which a table is recognized; none of them shows a value.

    Parameters
    ----------
    records : int
        The number of records.
    columns : mapping from str to str
        For every column a hash of its values in the order of the records.
    rows : str
        A hash of the records over all these columns, the same in whatever order they come.
    """

    records: int
    columns: Mapping[str, str]
    rows: str

    def __repr__(self) -> str:
        return f"TableFingerprint(records={self.records}, columns={sorted(self.columns)}, rows={self.rows!r})"


@final
@dataclass(frozen=True, kw_only=True)
class Posterior:
    """Where the models of a model class were drawn from.

    Parameters
    ----------
    source : str
        The public data, in a sentence.
    draws : int
        How many models were drawn.
    seed : int or None
        With which they can be drawn again.
    prior : str
        The prior of every column of the tables.
    table : TableFingerprint or None
        The public table, to be told from the one that is to be released.
    independent : bool
        Whether the draws are independent of each other. Those of a Markov chain are not: then nothing is said about
        what lies beyond them.
    same_table_is_public : bool
        Whether it was declared that the table to be released may be the public one.
    belief : bool
        Whether the posterior itself is the observer's law, in place of every draw being a model.
    of : int or None
        How many draws there were, where fewer are models: evenly spaced ones, as many as can be drawn from in some
        seconds.
    in_file : bool
        Whether the tables are numbers as files hold them: read from a framework's files, or learned to be written.

    Notes
    -----
    docs/claims/posterior.md says what the draws stand for.

    Examples
    --------
    >>> thousand = Posterior(source="a public census", draws=1000, seed=1, prior="uniform")
    >>> f"{thousand.beyond():.5f}"
    '0.00300'
    """

    source: str
    draws: int
    seed: int | None = None
    prior: str = ""
    table: TableFingerprint | None = None
    independent: bool = True
    same_table_is_public: bool = False
    belief: bool = field(default=False, repr=False)
    of: int | None = field(default=None, repr=False)
    in_file: bool = field(default=False, repr=False)

    def beyond(self, confidence: float = CONFIDENCE, *, among: int = 1) -> float:
        """Return which share of the posterior at most lies above the largest of the draws, with a given confidence.

        Parameters
        ----------
        confidence : float
        among : int
            From how many numbers the one in question may have been chosen after looking at the draws.

        Raises
        ------
        ParameterError
            If the confidence is not above 0 and below 1, or the draws depend on each other.
        """
        if not 0 < confidence < 1:
            raise ParameterError(
                "a confidence must be above 0 and below 1", found=f"{confidence:g}", remedy="Pass for example 0.95."
            )
        if not self.independent:
            raise ParameterError(
                "what lies beyond the draws is known for independent draws",
                found="draws that depend on each other",
                remedy="Draw from a conjugate posterior.",
            )
        share = (math.log(among) - math.log1p(-confidence)) / self.draws
        return min(1.0, math.nextafter(share * (1 + 2.0**-50), math.inf))

    @property
    def models_text(self) -> str:
        """Return which models somebody may believe."""
        if self.belief:
            return f"the posterior, known by {self.draws:,} draws (public data: {self.source})"
        return f"any of the {self.draws:,} models drawn from a posterior (public data: {self.source})"

    def fitted_sentence(self, what: str) -> str:
        """Return that nothing is known beyond the draws of what was fitted to them, given in words."""
        if self.belief or not self.independent:
            return self.sentence
        return f"{what} fitted to the {self.draws:,} draws: nothing is known about models that were not drawn."

    @property
    def sentence(self) -> str:
        """Return what may lie beyond the draws, of any one number that depends on the model alone."""
        return self._said(1, "in any one number that was chosen beforehand")

    def sentence_among(self, among: int) -> str:
        """Return what may lie beyond the draws, of a scale of noise that may have been chosen among several.

        Parameters
        ----------
        among : int
            How many there were to choose from.
        """
        return self._said(among, "if secrets, query, epsilon and delta were chosen beforehand")

    def _said(self, among: int, condition: str) -> str:
        if self.belief:
            how = "independent draws" if self.independent else "draws of Markov chains, which depend on each other"
            return (
                f"The observer is taken to hold the posterior itself, known by {self.draws:,} {how}, and the "
                "model of all that has none, of which the public data must tell through what has; somebody who knows "
                "one of the other parameters holds another law."
            )
        if not self.independent:
            return (
                f"The {self.draws:,} draws of the posterior depend on each other: nothing is known about models that "
                "were not drawn."
            )
        share = _percent(self.beyond(among=among))
        return (
            f"With confidence {100 * CONFIDENCE:g} % at most {share} of the posterior lies "
            f"above what is worst among the {self.draws:,} draws, {condition}."
        )


def _percent(share: float) -> str:
    """Return a share with two digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    # what is above a step by rounding alone counts as the step
    return f"{min(100.0, math.ceil(100 * share / step - 1e-9) * step):.3g} %"
