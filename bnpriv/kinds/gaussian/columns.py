"""Law evidence where columns are normal about affine functions of normal parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up
from bnpriv.core.column_laws import NumberLaw
from bnpriv.core.distributions import Normal
from bnpriv.core.evidence.constraints import Constraint, Departure, LawPair, Laws
from bnpriv.core.evidence.laws import missing_node
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.core.queries.base import Query, normal_form, numeric
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Pair, Secret
from bnpriv.errors import Refusal
from bnpriv.kinds.draws.laws import laws_of_draws
from bnpriv.kinds.gaussian import normal
from bnpriv.kinds.gaussian.intervals import CUT_OFF_MASS, NormalIntervals
from bnpriv.kinds.gaussian.network import GaussianNetwork, NormalColumn

# --------------------------------------------------------------------------------------------------
# Of normal laws under many models those that ask for the most noise: the others need not be looked at.
# --------------------------------------------------------------------------------------------------

LIKE_GAP = 1e-9
"""How far, for its length, a gap of several numbers may be from another that counts as the same."""

SHRUNK = 1e-6
"""Share that is taken off the covariance of what stands for others: far above what rounding adds to a comparison."""


def dominant_pairs(pairs: Sequence[LawPair]) -> dict[int, LawPair]:
    """Return those pairs of normal laws, by place, of which none asks for at least as much noise as another.

    Of one number a pair asks for no more than another if its means are no further apart, its variance is no smaller,
    and clamping, moves and rounding are no larger; of several if the gap is the same up to rounding, and the covariance
    is no smaller in any direction. Secrets in intervals are compared where they lie in them alike. What stands for
    others of several numbers is made a little harder than all of them (docs/claims/belief.md).
    """
    if not pairs:
        return {}
    if pairs[0].first.dimension > 1:
        sizes = [float(np.trace(_normal(pair).covariance)) for pair in pairs]
        kept: dict[int, LawPair] = {}
        for k in sorted(range(len(pairs)), key=lambda k: sizes[k]):
            above = next((j for j in kept if _outdoes(pairs[j], pairs[k])), None)
            if above is None:
                kept[k] = pairs[k]
            elif kept[above] is pairs[above]:
                kept[above] = _harder(pairs[above])
        return dict(sorted(kept.items()))
    alike: dict[object, list[int]] = {}
    for k, pair in enumerate(pairs):
        alike.setdefault(pair.intervals, []).append(k)
    kept = {}
    for places in alike.values():
        facts = np.array([_hardness(pairs[k]) for k in places])
        _, first = np.unique(facts, axis=0, return_index=True)
        rows = facts[first]
        beaten = [bool(((rows >= row).all(axis=1) & (rows > row).any(axis=1)).any()) for row in rows]
        kept |= {places[j]: pairs[places[j]] for j, worse in zip(first.tolist(), beaten, strict=True) if not worse}
    return dict(sorted(kept.items()))


def _hardness(pair: LawPair) -> list[float]:
    """Return numbers of which larger ones ask for more noise."""
    return [abs(float(_gap(pair)[0])), -float(_normal(pair).covariance[0, 0]), *_others(pair)]


def _normal(pair: LawPair) -> Normal:
    assert isinstance(pair.first, Normal)
    return pair.first


def _gap(pair: LawPair) -> FloatArray:
    assert isinstance(pair.second, Normal)
    return pair.second.mean - _normal(pair).mean


def _others(pair: LawPair) -> list[float]:
    """Return rounding, and the probability and the lengths of moves where records are clamped."""
    departure, inside = pair.departure, pair.intervals
    far = [0.0] * (1 + pair.first.dimension) if departure is None else [departure.mass, *departure.moves.tolist()]
    if isinstance(inside, NormalIntervals):
        far += [*inside.moves.tolist(), inside.shift, inside.spread]
    return [pair.rounding, *far]


def _outdoes(pair: LawPair, other: LawPair) -> bool:
    """Return whether what `_harder` makes of a pair asks for at least as much noise as another pair."""
    gap, covariance, larger = _gap(pair), _normal(pair).covariance, _normal(other).covariance
    if float(np.abs(_gap(other) - gap).sum()) > LIKE_GAP * float(np.abs(gap).sum()):
        return False
    if pair.intervals != other.intervals or any(a < b for a, b in zip(_others(pair), _others(other), strict=True)):
        return False
    if not covariance.any():
        return True
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    scaled = np.linalg.solve(root, np.linalg.solve(root, larger).T)
    return float(np.linalg.eigvalsh((scaled + scaled.T) / 2)[0]) >= 1 - SHRUNK / 2


def _harder(pair: LawPair) -> LawPair:
    """Return a pair that asks for as much noise as all that differ from it by rounding, or have more variance."""
    shrunk = _normal(pair).covariance * (1 - SHRUNK)
    first, second = (Normal(law.mean, shrunk) for law in (_normal(pair), pair.second) if isinstance(law, Normal))
    return replace(
        pair, first=first, second=second, rounding=up(pair.rounding + LIKE_GAP * float(np.abs(_gap(pair)).sum()), 8)
    )


# --------------------------------------------------------------------------------------------------
# Law evidence where columns are normal about affine functions of normal parameters (claim: normal_records).
# --------------------------------------------------------------------------------------------------

COLUMNS_FROM_MODEL = (
    "The records are those of the declared model: normal about the means that it gives them, before they are clamped "
    "to their bounds, and none is missing."
)

LEAST_CLAMPED = 1e-15
"""Probabilities that a record is clamped count as at least this."""

SUMMED = 2.0**-40
"""What adding up the coefficients of all records may take from their mean, as a share of the mean of their sizes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Below:
    """The queried columns under one model: numbers that are affine in parameters, and how their records are.

    Parameters
    ----------
    drivers : tuple of str, length p
    mean, error : ndarray of shape (c, p)
        The coefficients of the mean of each column, and how far adding them up may have taken them off.
    base : ndarray of shape (c,)
    variance : ndarray of shape (c,)
        Of the mean of each column about that; at most the true one.
    columns : tuple of NormalColumn
        Under this model alone.
    places : tuple of list of int
        Where the drivers of each column stand.
    """

    drivers: tuple[str, ...]
    mean: FloatArray
    error: FloatArray
    base: FloatArray
    variance: FloatArray
    columns: tuple[NormalColumn, ...]
    places: tuple[list[int], ...]

    @classmethod
    def of(cls, columns: tuple[NormalColumn, ...], model: int, records: int) -> _Below:
        """Return it for one model and a number of records."""
        chosen = tuple(column.under(model) for column in columns)
        drivers = tuple(dict.fromkeys(name for column in chosen for name in column.drivers))
        places = tuple([drivers.index(name) for name in column.drivers] for column in chosen)
        mean = np.zeros((len(chosen), len(drivers)))
        error = np.zeros_like(mean)
        for k, (column, place) in enumerate(zip(chosen, places, strict=True)):
            mean[k, place] = column.slopes[0].mean(axis=0)
            error[k, place] = SUMMED * np.abs(column.slopes[0]).mean(axis=0)
        squares = [float((column.deviation[0] ** 2).mean()) for column in chosen]
        return cls(
            drivers=drivers,
            mean=mean,
            error=error,
            base=np.array([float(column.base[0].mean()) for column in chosen]),
            variance=np.array(squares) / records * (1 - SUMMED),
            columns=chosen,
            places=places,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalColumnLaws(normal.LinearLaws):
    """The laws of an answer that is linear in columns which are normal about affine functions of normal parameters.

    Parameters
    ----------
    columns : tuple of NormalColumn
        Those of `linear`, in its order.
    """

    columns: tuple[NormalColumn, ...]

    def _compared(self) -> Iterator[Constraint]:
        lengths = [len(each) for column in self.columns for each in (column.base, column.slopes, column.deviation)]
        models = max([self.network.models, *lengths])
        below = [_Below.of(self.columns, model, self.form.schema.records) for model in range(models)]
        for secret in self.secrets:
            found: dict[int, list[LawPair]] = {}
            for asked in secret.compared:
                pairs = [self._pair(secret, asked, self._model(k), below[k]) for k in range(models)]
                for k, pair in dominant_pairs(pairs).items():
                    found.setdefault(k, []).append(pair)
            for k in sorted(found):
                yield Constraint(protected=secret.name, model=k, record=None, pairs=tuple(found[k]))

    def _model(self, k: int) -> int:
        """Return the model of the network that goes with a model of the columns: the only one, or the same."""
        return k if self.network.models > 1 else 0

    def _pair(self, secret: normal.NormalSecret, pair: Pair, model: int, below: _Below) -> LawPair:
        """Return the laws of the answer under the two values of a pair of secrets that are the farthest apart."""
        matrix = self.linear.matrix
        weights = np.array([float(name == secret.name) for name in self.network.attributes])
        fixed = secret.name if secret.name in below.drivers else None
        law = normal.translation(self.network, model, weights, below.drivers, fixed)
        centre = below.base + below.mean @ law.mean
        base = matrix @ centre + np.array([float(shift) for shift in self.linear.constant])
        covariance = self._covariance(law, below)
        if not below.drivers or (
            fixed is None and not self.network.graph.frontier(secret.name, frozenset(below.drivers))
        ):
            one = Normal(base, covariance)  # the graph separates the secret from all records, clamped or not
            return LawPair(pair=str(pair), first=one, second=one, rounding=0.0)
        slope = below.mean @ law.slope
        off = np.abs(below.mean) @ law.slope_error + below.error @ (np.abs(law.slope) + law.slope_error)
        off += SUMMED * np.abs(below.mean) @ np.abs(law.slope)
        offsets = secret.offsets(law, pair)
        centres = [base + matrix @ slope * offset for offset in offsets]
        carried = np.abs(matrix) @ (np.abs(below.base) + np.abs(below.mean) @ np.abs(law.mean))
        unsure = float((np.abs(matrix) @ off).sum()) * abs(offsets[1] - offsets[0])
        unsure += 64 * UNIT_ROUNDOFF * float(sum(np.abs(each).sum() for each in (*centres, carried)))
        moved = [self._moved(law, below, k)[1].mean() for k in range(len(below.columns))]
        moves = np.abs(matrix) @ np.array(moved) * (1 + SUMMED)
        inside = secret.intervals(law, pair, moves)
        mass = self._clamped(secret, pair, law, below, model, inside)
        return LawPair(
            pair=str(pair),
            first=Normal(centres[0], covariance),
            second=Normal(centres[1], covariance),
            rounding=up(self.rounding + unsure),
            kind="certified",
            departure=Departure(mass=_rounded_up(mass), moves=moves * pair.farthest),
            intervals=inside,
        )

    def _covariance(self, law: normal.Translation, below: _Below) -> FloatArray:
        """Return the covariance of the answer given the secret, rounded down in every direction."""
        matrix = self.linear.matrix
        free = matrix @ below.mean
        found = free @ law.covariance @ free.T + (matrix * below.variance) @ matrix.T
        sizes = np.abs(matrix) @ (np.abs(below.mean) + below.error)
        carried = sizes @ np.sqrt(np.diagonal(law.covariance)) + np.abs(matrix) @ np.sqrt(below.variance)
        return normal.rounded_down(found, carried)

    def _moved(self, law: normal.Translation, below: _Below, k: int) -> tuple[FloatArray, FloatArray]:
        """Return by how much every record of a column moves when the secret grows by 1, and at most, in size."""
        slopes, place = below.columns[k].slopes[0], below.places[k]
        moved = slopes @ law.slope[place]
        off = np.abs(slopes) @ (law.slope_error[place] + SUMMED * np.abs(law.slope[place]))
        return moved, np.abs(moved) + off

    def _spread(self, below: _Below, k: int, law: normal.Translation, model: int) -> FloatArray:
        """Return the standard deviation of every record of a column, whatever the secret is; rounded up."""
        column, place = below.columns[k], below.places[k]
        rows = [self.network.attributes.index(below.drivers[j]) for j in place]
        slopes = column.slopes[0]
        about = np.linalg.norm(slopes @ self.network.root[model][rows], axis=1)
        about += (8 * self.network.rounding + SUMMED) * (np.abs(slopes) @ law.spread[place])
        return np.hypot(about, column.deviation[0]) * (1 + SUMMED)

    def _clamped(
        self,
        secret: normal.NormalSecret,
        pair: Pair,
        law: normal.Translation,
        below: _Below,
        model: int,
        inside: NormalIntervals | None,
    ) -> float:
        """Return the largest probability, under a secret of a pair, that any record of a queried column is clamped."""
        from scipy.special import ndtr

        total, records = 0.0, self.form.schema.records
        for k, name in enumerate(self.linear.columns):
            bounds, column, place = numeric(name, self.form.schema), below.columns[k], below.places[k]
            slopes = column.slopes[0]
            moved, most = self._moved(law, below, k)
            centre = column.base[0] + slopes @ law.mean[place]
            spread = self._spread(below, k, law, model)
            lost = SUMMED * (np.abs(column.base[0]) + np.abs(slopes) @ np.abs(law.mean[place]))
            found: list[FloatArray] = []
            for offset in (0.0, *secret.reach(law, pair)):
                at = centre + moved * offset
                off = lost + (most - np.abs(moved)) * abs(offset) + SUMMED * most * (abs(offset) + abs(law.centre))
                above, under = (bounds.upper - at - off) / spread, (at - bounds.lower - off) / spread
                both = cast(FloatArray, ndtr(-above) + ndtr(-under))
                found.append(np.where(np.minimum(above, under) <= 0, 1.0, both))
            worst = np.max(found[1:], axis=0)
            if inside is not None and inside.least_mass > 0:
                # no more of what happens over all values of the secret can happen in one interval
                worst = np.minimum(worst, found[0] / inside.least_mass)
            total += records * float(worst.mean())
        return min(1.0, total * (1 + 1e-9) + (CUT_OFF_MASS if math.isinf(pair.farthest) else 0.0))


def _rounded_up(mass: float) -> float:
    """Return the next of a few probabilities, so that models with about the same one can be compared."""
    return min(1.0, 10.0 ** (math.ceil(20 * math.log10(max(mass, LEAST_CLAMPED))) / 20) * (1 + 1e-9))


def normal_column_laws(
    framework: DistributionalAttributePrivacy, network: GaussianNetwork, query: Query
) -> NormalColumnLaws | None:
    """Return the laws of a linear answer given a parameter, where the model's own columns are normal about parameters.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
    network : GaussianNetwork
        Of its parameters.
    query : Query

    Returns
    -------
    NormalColumnLaws or None
        None where they must be learned from draws.
    """
    known = network.normal_columns or {}
    if not query.columns <= known.keys():
        return None
    form = normal_form(query, framework.schema)
    linear = normal.LinearForm.of(form)
    if isinstance(linear, Refusal):
        return None
    columns = tuple(known[name] for name in linear.columns)
    if any(column.rows not in (1, framework.schema.records) for column in columns):
        return None
    secrets = tuple(
        normal.NormalSecret(name=name, weights={name: Fraction(1)}, constant=0.0, pairs=pairs)
        for name, pairs in framework.secrets.items()
    )
    return NormalColumnLaws(
        network=network,
        form=form,
        linear=linear,
        columns=columns,
        secrets=secrets,
        assumptions=(COLUMNS_FROM_MODEL, *normal.plausible_values(secrets)),
    )


# --------------------------------------------------------------------------------------------------
# Laws of answers: normal where the query is linear, else learned from draws.
# --------------------------------------------------------------------------------------------------


# --------------------------------------------------------------------------------------------------
# Which laws are normal: records with a joint normal law, and columns that are normal about normal parameters.
# --------------------------------------------------------------------------------------------------

NORMAL_RECORDS = (
    "The records are independent draws from the declared normal distribution, before they are clamped to their bounds, "
    "and none is missing; the property is that of these values."
)
NORMAL_COLUMNS = (
    "All parameters together are normal; given them the records are independent, normal about the parameter of their "
    "column, before they are clamped to their bounds, and none is missing."
)


def normal_record_laws(
    framework: DatasetAttributePrivacy, network: GaussianNetwork, query: Query
) -> normal.NormalLaws | Refusal:
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
    missing = missing_node(network, query)
    if missing is not None:
        return missing
    form = normal_form(query, framework.schema)
    linear = normal.LinearForm.of(form)
    if isinstance(linear, Refusal):
        return linear
    secrets = [
        _property(name, secret, framework.schema, framework.secrets[name]) for name, secret in framework.protect.items()
    ]
    refused = next((each for each in secrets if isinstance(each, Refusal)), None)
    if refused is not None:
        return refused
    found = tuple(each for each in secrets if isinstance(each, normal.NormalSecret))
    return normal.NormalLaws(
        network=network,
        form=form,
        linear=linear,
        secrets=found,
        own=None,
        assumptions=(NORMAL_RECORDS, *normal.plausible_values(found)),
    )


def _property(name: str, secret: Secret, schema: Schema, pairs: tuple[Pair, ...]) -> normal.NormalSecret | Refusal:
    linear = normal.LinearForm.of(normal_form(secret.property, schema))
    if isinstance(linear, Refusal):
        return linear
    (weights,), (constant,) = linear.weights, linear.constant
    named = {column: weight for column, weight in zip(linear.columns, weights, strict=True) if weight}
    if not named:
        return Refusal(required=f"the secret of {name!r} must vary", found="weights of 0", remedy="Correct them.")
    return normal.NormalSecret(name=name, weights=named, constant=float(constant), pairs=pairs)


def normal_parameter_laws(
    framework: DistributionalAttributePrivacy, network: GaussianNetwork, query: Query
) -> normal.NormalLaws | Refusal:
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
    linear = normal.LinearForm.of(form)
    if isinstance(linear, Refusal):
        return linear
    own: dict[str, float] = {}
    for name in linear.columns:
        law = next(iter(framework.column_laws.get(name, ())), None)
        if name not in network.attributes or not isinstance(law, NumberLaw) or law.name != "norm":
            return Refusal(
                required="the distribution of every queried column about its parameter must be declared as normal",
                found=f"none for {name!r}",
                remedy="Pass laws={column: scipy.stats.norm(0, 8), ...}: a record is its parameter plus such a number. "
                "Or use MarkovQuiltMechanism with delta above 0.",
            )
        own[name] = dict(law.parameters)["scale"] ** 2
    secrets = tuple(
        normal.NormalSecret(name=name, weights={name: Fraction(1)}, constant=0.0, pairs=pairs)
        for name, pairs in framework.secrets.items()
    )
    return normal.NormalLaws(
        network=network,
        form=form,
        linear=linear,
        secrets=secrets,
        own=own,
        assumptions=(NORMAL_COLUMNS, *normal.plausible_values(secrets)),
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
