"""Two distributions of a record that differ in the share of one class alone: its number is hidden, not its records."""

from __future__ import annotations

from typing import cast

from bnpriv.core.frameworks.pairs import DistributionPrivacy
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.asked import as_query, count
from bnpriv.core.queries.base import Query
from bnpriv.core.secrets import Secret
from bnpriv.errors import FrameworkError, ParameterError, Refusal
from bnpriv.mechanisms.plan import plan
from bnpriv.tables.private_table.classes import Classes, classes_of


def share_classes(framework: DistributionPrivacy, shares: object) -> Classes:
    """The two classes of records whose shares the distributions of a pair differ in.

    Parameters
    ----------
    framework : DistributionPrivacy
        Of record networks.
    shares : Query or str
        The count of the records of the one class.

    Raises
    ------
    ParameterError
        If `shares` is missing.
    FrameworkError
        If the distributions are no networks of records.
    """
    if not isinstance(shares, (str, Query)):
        raise ParameterError(
            "a private table of two distributions hides how many records are in one class",
            found="no count",
            remedy="Pass shares=, for example 'count(ill == \"yes\")'.",
        )
    if not all(isinstance(side, DiscreteNetwork) for pair in framework.pairs for side in pair):
        raise FrameworkError(
            "a private table needs distributions of a record", found="laws of an answer", remedy="Pair record networks."
        )
    found = classes_of([Secret(as_query(shares))], framework.schema)
    if len(found) != 2:
        raise ParameterError(
            "distributions differ in the share of one class", found=f"{len(found)} classes", remedy="Pass a count."
        )
    return found


def sides_of(framework: DistributionPrivacy) -> list[DiscreteNetwork]:
    """The networks of all pairs."""
    return [cast(DiscreteNetwork, side) for pair in framework.pairs for side in pair]


def calibrated_share(framework: DistributionPrivacy, classes: Classes, epsilon: float) -> Calibration | Refusal:
    """The least noise on the number of records of the class that hides which distribution it is.

    The rest of the table depends on the distribution through that number alone, if records of a class have one law.
    """
    found = plan(framework, count(classes.predicates[0]), epsilon)
    return found.calibrations[0] if found.calibrations else found.refusals[0][1]
