"""The privacy notions: who must not learn what, from which tables, under which models. Values that compute nothing."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from bnpriv import checks
from bnpriv.bound import Kind
from bnpriv.errors import FrameworkError
from bnpriv.networks import DiscreteNetwork
from bnpriv.schema import Schema
from bnpriv.secrets import Protect, SecretPair, secrets_of


@final
@dataclass(frozen=True)
class DistributionalAttributePrivacy:
    """Hide the parameter that governs a protected column (distributional attribute privacy).

    Parameters
    ----------
    network : DiscreteNetwork
        How the columns' parameters depend on each other, of level "parameters"; several models are the class Theta.
    schema : Schema
        The columns of the table and the number of records.
    protect : str, iterable of str, or mapping from str to SecretPairs
        The protected attributes; all pairs of their states unless `bnpriv.pairs` chooses some.
    source : str
        Where the model comes from; printed in every certificate. It must not be the data to be released.
    independent : iterable of str
        Columns that are no node of the network and are declared independent of all parameters and all other columns,
        jointly; independence of the protected attributes alone would not do.

    Raises
    ------
    FrameworkError
        If the network is not of level "parameters", or an independent column is unknown or a node.
    SecretError
        If nothing is protected, an attribute is unknown or has one state, or a pair is not well formed.

    Notes
    -----
    Definition 4 of Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022). Given all parameters the columns are
    independent, and each is driven by its own parameter alone.

    Examples
    --------
    >>> from bnpriv.schema import Real
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "height": [[0.5, 0.4], [0.5, 0.6]]},
    ...     states={"income": ["low", "high"], "height": ["short", "tall"]},
    ...     parents={"height": ["income"]},
    ... )
    >>> schema = Schema(records=100, columns={"height": Real(120, 220)})
    >>> framework = DistributionalAttributePrivacy(network, schema, "income", source="a textbook")
    >>> [str(pair) for pair in framework.secrets["income"]]
    ['low against high', 'high against low']
    """

    network: DiscreteNetwork
    schema: Schema
    protect: Protect
    source: str = field(kw_only=True)
    independent: Iterable[str] = field(default=(), kw_only=True)
    secrets: Mapping[str, tuple[SecretPair, ...]] = field(init=False, repr=False)

    notion = "distributional attribute privacy"

    def __post_init__(self) -> None:
        if self.network.level != "parameters":
            raise FrameworkError(
                "distributional attribute privacy needs a network of level 'parameters'",
                found=f"level {self.network.level!r}",
                remedy="Declare the network of the columns' parameters.",
            )
        checks.text("source", self.source, error=FrameworkError)
        independent = checks.subset("independent", self.independent, self.schema.columns, error=FrameworkError)
        nodes = independent.intersection(self.network.attributes)
        if nodes:
            raise FrameworkError(
                "an independent column must not be a node of the network",
                found=checks.listing(sorted(nodes)),
                remedy="Leave it out of `independent`: the network already says what it depends on.",
            )
        object.__setattr__(self, "independent", independent)
        object.__setattr__(self, "secrets", secrets_of(self.network, self.protect))

    def fingerprint(self) -> str:
        """Return a hash of everything that a calibration depends on."""
        digest = hashlib.sha256()
        columns = sorted(self.schema.columns.items())
        secrets = [(name, [str(pair) for pair in chosen]) for name, chosen in sorted(self.secrets.items())]
        facts = (self.notion, self.source, self.schema.records, columns, secrets, sorted(self.independent))
        digest.update(repr(facts).encode())
        for name in sorted(self.network.attributes):
            table = self.network.tables[name]
            digest.update(repr((table.axes, table.values.shape, self.network.states[name])).encode())
            digest.update(table.values.tobytes())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.fingerprint())


Framework = DistributionalAttributePrivacy


@final
@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What a release promises, as numbers and as a sentence.

    Parameters
    ----------
    epsilon, delta : float
        The odds on a secret move by at most a factor exp(epsilon), up to a failure probability delta.
    protected : tuple of str
        The protected attributes.
    models : int
        How many models the adversary may hold.
    source : str
        Where the models come from.
    kind : {"exact", "certified", "estimate"}
        How well the numbers behind it are known.
    """

    epsilon: float
    delta: float
    protected: tuple[str, ...]
    models: int
    source: str
    kind: Kind

    def belief(self, prior: float) -> float:
        """Return the largest belief in a secret, against one alternative, after seeing the answer (delta aside)."""
        odds = prior / (1 - prior) * math.exp(self.epsilon)
        return odds / (1 + odds)

    @property
    def sentence(self) -> str:
        """Return the guarantee in plain words."""
        models = "the declared model" if self.models == 1 else f"any of the {self.models} declared models"
        slack = f", except with probability {self.delta:g}" if self.delta else ""
        estimate = " This rests on an estimate, not on a proof." if self.kind == "estimate" else ""
        return (
            f"Somebody who believes {models} (source: {self.source}) and sees this answer cannot tell the protected "
            f"secrets of {' and '.join(self.protected)} apart: the odds between the two secrets of a pair move by at "
            f"most a factor {math.exp(self.epsilon):.3g}{slack}; a belief of 10 % becomes at most "
            f"{100 * self.belief(0.1):.3g} %.{estimate} Single records are not protected by this: use record-level "
            "differential privacy for them."
        )
