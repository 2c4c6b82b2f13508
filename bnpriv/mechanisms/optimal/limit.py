"""The least error that any mechanism on an answer can have."""

from __future__ import annotations

import numpy as np

from bnpriv.bound import Bound
from bnpriv.core.evidence.constraints import Laws
from bnpriv.errors import Refusal
from bnpriv.mechanisms.optimal.laws import LawTable, Loss
from bnpriv.mechanisms.optimal.mechanism import laws_refusal, pairs_of
from bnpriv.mechanisms.optimal.supports import Constraints, Question, optimum


def least_error(evidence: Laws, epsilon: float, delta: float = 0.0, error: Loss = "absolute") -> Bound | Refusal:
    """Return the least expected error of mechanisms that see the data only through an answer of one number.

    The error is averaged over the laws under both secrets of every pair; outputs are values of the answer, which for
    the absolute and the 0-1 error is no restriction.

    Parameters
    ----------
    evidence : Laws
        The laws of the answer under the secrets of a framework: ``evidence.laws(framework, query)``.
    epsilon, delta : float
    error : {"absolute", "squared", "zero-one"}

    Returns
    -------
    Bound or Refusal
        `lower` is proved, from prices of the constraints and rounded down; `upper` is reached by a channel whose rows
        meet all constraints. A refusal says why no channel is sought.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.core.evidence.laws import laws
    >>> pair = (bp.laws.Atoms([0, 1], [0.75, 0.25]), bp.laws.Atoms([0, 1], [0.25, 0.75]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> found = least_error(laws(framework, None), epsilon=0.5)
    >>> round(found.lower, 4), round(found.upper, 4)
    (0.2551, 0.2551)
    """
    refusal = laws_refusal(evidence)
    if refusal is not None:
        return refusal
    pairs = pairs_of(evidence)
    table = LawTable.of(pairs)
    if all(pair.free for pair in pairs) and Constraints(table, epsilon, delta).hold_unchanged():
        return Bound(0.0, 0.0, table.kind)
    question = Question(table=table, error=error, priors=table.mean[np.newaxis], epsilon=epsilon, delta=delta)
    found = optimum(question)
    return Bound(min(found.bound, found.error), found.error, table.kind)
