"""Whether the secrets of a framework are possible: a guarantee about impossible ones would promise nothing."""

from __future__ import annotations

from bnpriv.core.evidence.dataset import can_vary
from bnpriv.core.evidence.structural import structural_evidence
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.frameworks.value import ValuePrivacy
from bnpriv.errors import BnprivError, Refusal
from bnpriv.kind import notion_of


def impossibility(framework: object) -> Refusal | None:
    """Why the secrets of a protected attribute are impossible in every model, or None if some are possible.

    Parameters
    ----------
    framework : Framework

    Returns
    -------
    Refusal or None
        Of the first attribute all of whose pairs hold a secret of probability zero, under every model.

    Examples
    --------
    >>> import bnpriv as bp
    >>> impossibility(bp.example("student")) is None
    True
    """
    return notion_of(framework).impossibility(framework)


def impossible_in_structure(framework: DistributionalAttributePrivacy | ValuePrivacy) -> Refusal | None:
    """Why all pairs of secrets of an attribute are impossible, by the structural evidence."""
    return structural_evidence(framework).impossible()


def impossible_values(framework: ValuePrivacy) -> Refusal | None:
    """Why all pairs of values are impossible; of a chain, whether no step has two possible values."""
    chain = framework.chain
    if chain is None:
        return structural_evidence(framework).impossible()
    if any(chain.varies(model) for model in range(chain.models)):
        return None
    return Refusal(
        required="two values must be possible at some step of the chain",
        found="one at every step",
        remedy="Correct the transition matrix or the start.",
    )


def impossible_properties(framework: DatasetAttributePrivacy) -> Refusal | None:
    """Why a property of the table has a single possible value in every model."""
    if framework.forward is not None:
        return None  # draws cannot tell the impossible from the rare
    for name, secret in framework.protect.items():
        try:
            varies = any(can_vary(framework, secret, model) for model in range(framework.models))
        except BnprivError:
            continue  # the law of the column is not known; mechanisms that need it say so
        if not varies:
            return Refusal(
                required=f"some two values of the secret of {name!r} must have positive probability",
                found="none in any model",
                remedy="Correct the model, or choose another secret.",
            )
    return None
