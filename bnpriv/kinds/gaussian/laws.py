"""Laws of answers of linear-Gaussian networks: normal where the query is linear, else learned from draws."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from bnpriv.checks import listing
from bnpriv.core.column_laws import NumberLaw
from bnpriv.core.evidence.constraints import Laws
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.normal_form import normal_form
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Pair, Secret
from bnpriv.errors import Refusal
from bnpriv.kinds.draws.laws import laws_of_draws
from bnpriv.kinds.gaussian.columns import normal_column_laws
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.kinds.gaussian.normal import LinearForm, NormalLaws, NormalSecret, plausible_values

# --------------------------------------------------------------------------------------------------
# Which laws are normal: records with a joint normal law, and columns that are normal about normal parameters.
# --------------------------------------------------------------------------------------------------

NORMAL_RECORDS = (
    "The records are independent draws from the declared normal law, before they are clamped to their bounds, and none "
    "is missing; the property is that of these values."
)
NORMAL_COLUMNS = (
    "All parameters together are normal; given them the records are independent, normal about the parameter of their "
    "column, before they are clamped to their bounds, and none is missing."
)


def normal_record_laws(
    framework: DatasetAttributePrivacy, network: GaussianNetwork, query: Query
) -> NormalLaws | Refusal:
    """Return the laws of a linear answer given a linear property of the table, or why they are not known.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
    network : GaussianNetwork
        Of its records.
    query : Query

    Returns
    -------
    NormalLaws or Refusal
    """
    missing = query.columns.difference(network.attributes)
    if missing:
        return Refusal(
            required="every queried column must be a node of the record network",
            found=listing(sorted(missing)),
            remedy="Add it to the network.",
        )
    form = normal_form(query, framework.schema)
    linear = LinearForm.of(form)
    if isinstance(linear, Refusal):
        return linear
    secrets = [
        _property(name, secret, framework.schema, framework.secrets[name]) for name, secret in framework.protect.items()
    ]
    refused = next((each for each in secrets if isinstance(each, Refusal)), None)
    if refused is not None:
        return refused
    found = tuple(each for each in secrets if isinstance(each, NormalSecret))
    return NormalLaws(
        network=network,
        form=form,
        linear=linear,
        secrets=found,
        own=None,
        assumptions=(NORMAL_RECORDS, *plausible_values(found)),
    )


def _property(name: str, secret: Secret, schema: Schema, pairs: tuple[Pair, ...]) -> NormalSecret | Refusal:
    linear = LinearForm.of(normal_form(secret.property, schema))
    if isinstance(linear, Refusal):
        return linear
    (weights,), (constant,) = linear.weights, linear.constant
    named = {column: weight for column, weight in zip(linear.columns, weights, strict=True) if weight}
    if not named:
        return Refusal(required=f"the secret of {name!r} must vary", found="weights of 0", remedy="Correct them.")
    return NormalSecret(name=name, weights=named, constant=float(constant), pairs=pairs)


def normal_parameter_laws(
    framework: DistributionalAttributePrivacy, network: GaussianNetwork, query: Query
) -> NormalLaws | Refusal:
    """Return the laws of a linear answer given a parameter, or why they are not known.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
    network : GaussianNetwork
        Of its parameters.
    query : Query

    Returns
    -------
    NormalLaws or Refusal
    """
    form = normal_form(query, framework.schema)
    linear = LinearForm.of(form)
    if isinstance(linear, Refusal):
        return linear
    own: dict[str, float] = {}
    for name in linear.columns:
        law = next(iter(framework.column_laws.get(name, ())), None)
        if name not in network.attributes or not isinstance(law, NumberLaw) or law.name != "norm":
            return Refusal(
                required="the law of every queried column about its parameter must be declared as normal",
                found=f"none for {name!r}",
                remedy="Pass laws={column: scipy.stats.norm(0, 8), ...}: a record is its parameter plus such a number. "
                "Or use MarkovQuiltMechanism with delta above 0.",
            )
        own[name] = dict(law.parameters)["scale"] ** 2
    secrets = tuple(
        NormalSecret(name=name, weights={name: Fraction(1)}, constant=0.0, pairs=pairs)
        for name, pairs in framework.secrets.items()
    )
    return NormalLaws(
        network=network,
        form=form,
        linear=linear,
        secrets=secrets,
        own=own,
        assumptions=(NORMAL_COLUMNS, *plausible_values(secrets)),
    )


# --------------------------------------------------------------------------------------------------
# Laws of answers of linear-Gaussian networks: normal where the query is linear, learned from draws otherwise.
# --------------------------------------------------------------------------------------------------


def laws_of_normal_records(framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws given a linear property of normal records."""
    return normal_record_laws(framework, cast(GaussianNetwork, framework.network), query)


def laws_of_normal_parameters(framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws given normal parameters: normal where the query is linear, learned from draws otherwise."""
    network = cast(GaussianNetwork, framework.network)
    if network.forward is None:
        return normal_parameter_laws(framework, network, query)
    found = normal_column_laws(framework, network, query)
    return found or laws_of_draws(framework, network.forward, query)
