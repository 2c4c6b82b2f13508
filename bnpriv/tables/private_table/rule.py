"""How a private table is made: decided from declarations alone, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import Kind, least_whole, up
from bnpriv.core.columns import GAP_MARK, Categorical
from bnpriv.core.evidence.laws import OTHERS, Counts, cells_of
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.pairs import DistributionPrivacy
from bnpriv.core.frameworks.protected import ProtectedSecret, property_secret
from bnpriv.core.mechanisms.certificate import models_text, posterior_of
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.asked import as_query, count
from bnpriv.core.queries.builtin import Count, Difference, Proportion
from bnpriv.core.queries.contribution import holds_category, holds_number
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate, truth
from bnpriv.core.schema import NumberColumn, Schema, has_gaps, is_whole, require_schema
from bnpriv.core.secrets import Secret
from bnpriv.errors import FrameworkError, ParameterError, Refusal, RefusedError, SecretError
from bnpriv.kind import is_framework, kind_of, notion_of
from bnpriv.kinds.graphs import model_class
from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism
from bnpriv.mechanisms.plan import plan
from bnpriv.tables.private_table.counts import CalibratedCount, CountNoise, MoveNoise, least_bound
from bnpriv.tables.private_table.made_up import RecordLaw, record_law
from bnpriv.text import and_text, name_text, visible

# --------------------------------------------------------------------------------------------------
# The classes of records whose numbers a private table hides, and how many records lie between two secrets.
# --------------------------------------------------------------------------------------------------

MOST_VALUES_TRIED = 2**20
"""The most combinations of values of which it is asked whether a class can have a record."""

MOST_CLASSES = 200
"""The most classes of a private table."""


@dataclass(frozen=True, kw_only=True)
class Classes:
    """The classes whose numbers of records are hidden; every record is in exactly one.

    Parameters
    ----------
    schema : Schema
    predicates : tuple of Predicate
        The condition of each class.
    labels : tuple of str
        Each class in words.
    moved : int
        How many records at most lie in other classes under the one secret of a pair than under the other.
    protected : tuple of ProtectedSecret
        What is hidden, in words.
    one_law : bool
        Whether all records must have one law, so that so few move: not where the secret is one count, or all of them.
    """

    schema: Schema
    predicates: tuple[Predicate, ...]
    labels: tuple[str, ...]
    moved: int
    protected: tuple[ProtectedSecret, ...]
    one_law: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The columns that tell the class of a record."""
        return frozenset[str]().union(*(predicate.columns for predicate in self.predicates))

    def __len__(self) -> int:
        return len(self.predicates)


def classes_of(secrets: Sequence[Secret], schema: Schema) -> Classes:
    """The classes that some secrets are about: the cells of all of them together.

    Parameters
    ----------
    secrets : sequence of Secret
        Counts and proportions, each of two classes; differences of two, of three; or histograms, crosstabs and counts
        by groups, of as many as they have cells, and one more for records in none.
    schema : Schema

    Raises
    ------
    SecretError
        If a secret is no count of records, or the classes are too many.

    Examples
    --------
    >>> import bnpriv as bp
    >>> schema = bp.Schema(records=100, columns={"ill": bp.Categorical(["no", "yes"])})
    >>> found = classes_of([bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=5))], schema)
    >>> found.labels, found.moved
    (('ill = yes', 'other records'), 5)
    """
    require_schema(schema)
    cells = [_possible(_cells(secret, schema), schema) for secret in secrets]
    number = math.prod(map(len, cells))
    if number > MOST_CLASSES:
        raise SecretError(
            f"a private table has at most {MOST_CLASSES} classes of records",
            found=f"{number:,} cells of {and_text([visible(str(secret.property)) for secret in secrets])}",
            remedy="Hide coarser bins, or fewer columns.",
        )
    combined = [
        (and_text([label for label, _ in cell]), _all([condition for _, condition in cell])) for cell in product(*cells)
    ]
    found = _possible(combined, schema)
    if len(found) < 2:
        raise SecretError(
            "what is hidden must not be known beforehand: some possible records must fulfil the condition, others not",
            found="a condition that all values of its columns fulfil, or none",
            remedy="Compare it with the categories and bounds of the schema.",
        )
    return Classes(
        schema=schema,
        labels=tuple(label for label, _ in found),
        predicates=tuple(condition for _, condition in found),
        moved=max(_moved(secret, schema) for secret in secrets),
        protected=tuple(property_secret(secret, schema) for secret in secrets),
        one_law=len(secrets) > 1 or isinstance(secrets[0].property, Difference),
    )


def _cells(secret: Secret, schema: Schema) -> list[tuple[str, Predicate]]:
    """The cells of one secret, each with its condition; the last is of all other records."""
    query = secret.property
    if not (secret.of_cells or isinstance(query, (Count, Proportion, Difference))):
        raise SecretError(
            "a private table hides numbers of records: a count, a proportion, a difference of two, a histogram or a "
            "crosstab",
            found=visible(str(query)),
            remedy=f"Hide the histogram of {name_text(secret.column)} in place of it, with the distance in records: a "
            "mean or total may be far away with few records moved, or near with many.",
        )
    cells = cells_of(secret, schema)
    conditions = tuple(condition for _, condition in cells)
    return [*cells, (OTHERS, Not(conditions[0] if len(cells) == 1 else Or(conditions)))]


def _all(parts: Sequence[Predicate]) -> Predicate:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _possible(cells: list[tuple[str, Predicate]], schema: Schema) -> list[tuple[str, Predicate]]:
    """The cells that a record can be in, whatever it is: a histogram of all values leaves no other records."""
    names = sorted(frozenset[str]().union(*(condition.columns for _, condition in cells)))
    leaves = [leaf for _, condition in cells for leaf in condition.comparisons()]
    values: dict[str, NDArray[Any]] = {}
    for axis, name in enumerate(names):
        column = schema[name]
        points = range(len(column.outcomes)) if isinstance(column, Categorical) else _points(column, name, leaves)
        values[name] = np.array(list(points)).reshape([-1 if k == axis else 1 for k in range(len(names))])
    if math.prod(each.size for each in values.values()) > MOST_VALUES_TRIED:
        return cells

    def holds(leaf: Comparison | IsIn) -> NDArray[np.bool_]:
        column, points = schema[leaf.column], values[leaf.column]
        return holds_category(leaf, column)[points] if isinstance(column, Categorical) else holds_number(leaf, points)

    return [cell for cell in cells if truth(cell[1], holds).any()]


def _points(column: NumberColumn, name: str, leaves: Sequence[Comparison | IsIn]) -> list[float]:
    """Numbers of a column that stand for all, as far as some comparisons tell."""
    cuts = [float(value) for leaf in leaves if leaf.column == name for value in leaf.constants]  # pyright: ignore[reportArgumentType]
    near = [way for cut in cuts for way in (math.nextafter(cut, -math.inf), cut, math.nextafter(cut, math.inf))]
    if is_whole(column):
        near = [whole for cut in cuts for whole in (math.floor(cut) - 1, math.floor(cut), math.floor(cut) + 1)]
    inside = [float(column.lower), float(column.upper), *(x for x in near if column.lower <= x <= column.upper)]
    return [*inside, GAP_MARK] if has_gaps(column) else inside


def _moved(secret: Secret, schema: Schema) -> int:
    """How many records lie between the two secrets of a pair, at most."""
    values = (-1, 0, 1) if isinstance(secret.property, Difference) else (0, 1)
    counts = Counts.of(secret, schema, *values)
    return min(schema.records, max(counts.apart(secret, counts.pairs(secret))[0]))


# --------------------------------------------------------------------------------------------------
# How a private table is made: decided from declarations alone, before any data are read.
# --------------------------------------------------------------------------------------------------

TableForm = Literal["fill", "trim", "fill and trim"]
FORMS: tuple[TableForm, ...] = ("fill", "trim", "fill and trim")

MOST_RECORDS_OPTIMAL = 30
"""In tables of so few records the noise on a count is the least possible; more of them take a solver too long."""

ANY_LAW = (
    "that the records of each class are drawn independently of each other from one distribution "
    "(any distribution at all)"
)
"""What the observer of a trimmed table may believe, where its secrets tell all numbers of records."""

ONE_LAW = "that the records are drawn independently of each other from one distribution (any distribution at all)"
"""What the observer may believe where several secrets each tell a part of these numbers."""

SEEN = "this table and whatever is made of it"

PERSONS = (
    "Real records are handed on: single persons are not protected by this. Ask a hidden table with record-level "
    "differential privacy where they must be."
)


@dataclass(frozen=True, kw_only=True)
class TableRule:
    """How a private table is made of the true one.

    Parameters
    ----------
    classes : Classes
    form : {"fill", "trim", "fill and trim"}
    noise : CountNoise
        On the numbers of records of the classes.
    given_up : int
        How many records each class has fewer than its noisy number says.
    law : RecordLaw or None
        Where records that are missing are drawn from.
    guarantee : Guarantee

    Notes
    -----
    docs/claims/private_table_fill.md and private_table_trim.md; of tables that stay inside private_table_hidden.md.
    """

    classes: Classes
    form: TableForm
    noise: CountNoise
    given_up: int
    law: RecordLaw | None
    guarantee: Guarantee

    def sizes(self, noisy: Sequence[int]) -> tuple[int, ...]:
        """How many records of each class are handed on, by their noisy numbers alone."""
        if self.form == "fill":
            return whole_sizes(noisy)
        return tuple(max(0, number - self.given_up) for number in noisy)

    def counts(self, counts: Sequence[int], noisy: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How many records of each class are kept, and how many made up, both private: only their sum is shown."""
        sizes = self.sizes(noisy)
        keep = tuple(map(min, sizes, counts))
        return keep, tuple(size - kept for size, kept in zip(sizes, keep, strict=True))

    @property
    def as_they_count(self) -> bool:
        """Whether values are handed on as they count, so that made-up records look like real ones."""
        return self.law is not None


def whole_sizes(noisy: Sequence[int]) -> tuple[int, ...]:
    """Numbers of records that are not negative, of the same sum, and nearest to noisy ones.

    Examples
    --------
    >>> whole_sizes([-3, 5, 8])
    (0, 3, 7)
    """
    sizes, owed = [max(0, number) for number in noisy], -sum(min(0, number) for number in noisy)
    while owed:
        able = [place for place, size in enumerate(sizes) if size]
        share = max(1, min(owed // len(able), min(sizes[place] for place in able)))
        for place in able[: owed // share]:
            sizes[place] -= share
            owed -= share
    return tuple(sizes)


# --------------------------------------------------------------------------------------------------
# What is asked for, in any of its ways: a framework, or secrets with a schema.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """What a private table hides, and what is known of the law of a record.

    Parameters
    ----------
    classes : Classes
    framework : Framework or None
    law : RecordLaw, Refusal or None
        The law of a record given its class; None where none was given.
    source : str
    network : network, optional
        What was given as the law of a record of secrets by themselves.
    share : bool
        Whether the secret is which of two distributions holds, rather than the numbers themselves.
    """

    classes: Classes
    framework: Any
    law: RecordLaw | Refusal | None
    source: str
    network: Any = None
    share: bool = False


def hidden_by(asked: object, schema: Schema | None, law: object, shares: object) -> Hidden:
    """What is to be hidden, of a framework or of secrets.

    Parameters
    ----------
    asked : DatasetAttributePrivacy, DistributionPrivacy, Secret or sequence of Secret
    schema : Schema, optional
        Needed for secrets alone.
    law : object
        A network of records, where `asked` has none.
    shares : Query or str, optional
        The count whose share the distributions of a pair differ in.

    Raises
    ------
    FrameworkError, SecretError, ParameterError
        If it is something else, or a schema is missing.
    """
    if is_framework(asked):
        if law is not None or schema is not None:
            raise ParameterError(
                "a framework has its own distribution of a record and its own schema: its promise is about its models",
                found="another one beside it",
                remedy="Leave it out, or pass the secrets by themselves with law= and schema=.",
            )
        return notion_of(asked).hidden(asked, shares)
    _require_no_shares(shares)
    listed = (asked,) if isinstance(asked, Secret) else asked
    secrets = tuple(cast("Sequence[object]", listed) if isinstance(listed, (list, tuple)) else _secrets(listed))
    if not secrets or not all(isinstance(each, Secret) for each in secrets):
        raise ParameterError(
            "a private table hides the secrets of a framework, or secrets by themselves",
            found=checks.type_text(asked),
            remedy="Pass a DatasetAttributePrivacy, or bp.Secret('count(ill == \"yes\")', pairs=bp.apart(at_most=20)).",
        )
    if schema is None:
        raise ParameterError(
            "secrets by themselves need a schema", found="none", remedy="Pass schema=Schema(records=..., columns=...)."
        )
    classes = classes_of(cast("tuple[Secret, ...]", secrets), schema)
    known = None if law is None else record_law(law, schema, classes.predicates, tuple(schema.columns))
    network = law if isinstance(known, RecordLaw) else None
    return Hidden(classes=classes, framework=None, law=known, source="no model of the table", network=network)


def hidden_property(framework: DatasetAttributePrivacy, shares: object) -> Hidden:
    """What is hidden of a table of independent records: the numbers of records that the secrets count.

    Raises
    ------
    FrameworkError, SecretError
        If records are not independent, or have no classes.
    """
    if framework.forward is not None or not framework.network.states:
        raise FrameworkError(
            "a private table needs records that are independent, with columns of values",
            found="a network that draws whole tables, or jointly normal records",
            remedy="Pass the secret alone, with schema=..., form='trim' and a delta.",
        )
    _require_no_shares(shares)
    schema = framework.schema
    classes = classes_of(tuple(framework.protect.values()), schema)
    found = record_law(framework, schema, classes.predicates, tuple(schema.columns))
    return Hidden(classes=classes, framework=framework, law=found, source=framework.source)


def hidden_share(framework: DistributionPrivacy, shares: object) -> Hidden:
    """What is hidden of two distributions that differ in the share of one class alone: how many records are in it.

    The rest of a table depends on the distribution through that number alone, if records of a class have one law.

    Raises
    ------
    ParameterError, FrameworkError
        If `shares` is missing or no count, or a distribution is no network of records.
    """
    networks = cast("tuple[DiscreteNetwork, ...]", notion_of(framework).networks(framework))
    if not networks or not all(kind_of(each).exact_tables and each.level == "records" for each in networks):
        raise FrameworkError(
            "a private table needs distributions of a record",
            found="distributions of an answer",
            remedy="Pair record networks.",
        )
    classes = classes_of([Secret(as_query(cast(str, shares)))], framework.schema) if shares is not None else None
    if classes is None or len(classes) != 2:
        raise ParameterError(
            "a private table of two distributions hides how many records are in one class",
            found="no count" if classes is None else f"{len(classes)} classes",
            remedy="Pass shares=, for example 'count(ill == \"yes\")'.",
        )
    found = record_law(model_class(networks), framework.schema, classes.predicates, tuple(framework.schema.columns))
    return Hidden(classes=classes, framework=framework, law=found, source=framework.source, share=True)


def _require_no_shares(shares: object) -> None:
    if shares is not None:
        raise ParameterError(
            "shares= names the count of a DistributionPrivacy", found="other secrets", remedy="Leave it out."
        )


def _secrets(given: object) -> Sequence[object]:
    return tuple(cast("Mapping[object, object]", given).values()) if isinstance(given, Mapping) else ()


# --------------------------------------------------------------------------------------------------
# The forms: what each needs, and what it promises.
# --------------------------------------------------------------------------------------------------


def rule_of(hidden: Hidden, form: TableForm, epsilon: float, delta: float) -> TableRule | Refusal:
    """How a private table of a form is made, or why it cannot be.

    Parameters
    ----------
    hidden : Hidden
    form : {"fill", "trim", "fill and trim"}
    epsilon, delta : float
        The guarantee that is asked for.
    """
    made = {"fill": _fill, "trim": _trim, "fill and trim": _both}[form]
    try:
        return made(hidden, epsilon, delta)
    except RefusedError as refused:
        return Refusal.of(refused)


def rules_of(hidden: Hidden, epsilon: float, delta: float) -> Mapping[TableForm, TableRule | Refusal]:
    """Every form, or why it cannot be."""
    return {form: rule_of(hidden, form, epsilon, delta) for form in FORMS}


def chosen_rule(hidden: Hidden, form: str | None, epsilon: float, delta: float) -> TableRule:
    """The form that is asked for; else the first of trim (with a delta), fill, fill and trim that can be.

    Whoever gives a delta needs no law of a record, and so nothing that may be wrong about one.

    Raises
    ------
    RefusedError
        If it cannot be.
    ParameterError
        If there is no such form, or epsilon or delta is out of range.
    """
    epsilon, delta = checks.epsilon(epsilon), checks.delta(delta)
    tried: Sequence[TableForm] = ("trim", "fill", "fill and trim") if delta else ("fill", "trim")
    if form is not None:
        tried = (cast(TableForm, checks.member("the form of a private table", form, FORMS, error=ParameterError)),)
    refused: Refusal | None = None
    for each in tried:
        found = rule_of(hidden, each, epsilon, delta)
        if isinstance(found, TableRule):
            return found
        refused = refused or found
    assert refused is not None
    raise refused.error()


def _times(log: float) -> str:
    return f"up to {math.exp(log):.3g} times" if log < math.log(1e9) else "over 1,000,000,000 times"


def scale_of(moved: int, epsilon: float) -> float:
    """The scale of noise for secrets so many records apart, rounded up."""
    return up(moved / epsilon)


def _trim(hidden: Hidden, epsilon: float, delta: float) -> TableRule | Refusal:
    classes, moved = hidden.classes, hidden.classes.moved
    if hidden.share:
        return Refusal(
            required="a trimmed table hides numbers of records that are close to each other",
            found="two distributions, under which these may be any",
            remedy="Ask for form='fill'.",
        )
    if not delta:
        return Refusal(
            required="a trimmed table needs a delta, the probability that it tells more",
            found="delta 0",
            remedy=f"Choose one, such as {min(1e-6, 0.1 / classes.schema.records):.0e}; or give a "
            "distribution of a record, and ask for form='fill'.",
        )
    scale = scale_of(moved, epsilon)
    bound = least_bound(len(classes), scale, moved, delta)
    noise = MoveNoise(classes=len(classes), scale=scale, most=bound)
    refusal = _too_few(hidden, bound)
    if refusal is not None:
        return refusal
    told = Guarantee(
        epsilon=epsilon,
        delta=min(delta, noise.delta(moved)),
        secrets=classes.protected,
        models=1,
        source="any distribution",
        kind="certified",
        models_text=ONE_LAW if classes.one_law else ANY_LAW,
        beyond_text=PERSONS,
        single_values=True,
        seen=SEEN,
    )
    return TableRule(classes=classes, form="trim", noise=noise, given_up=bound, law=None, guarantee=told)


def _too_few(hidden: Hidden, bound: int) -> Refusal | None:
    """Why every class would be given up as a whole, by their number of records or by the model."""
    classes, records = hidden.classes, hidden.classes.schema.records
    usual = [records] * len(classes)
    if hidden.law is not None and not isinstance(hidden.law, Refusal):
        usual = [round(records * share) for share in hidden.law.shares]
    few = next((place for place, count in enumerate(usual) if count <= min(bound, records - 1)), None)
    if records > len(classes) * bound and few is None:
        return None
    closer = classes.moved * min(*usual, records // len(classes)) // (bound + 1)
    most = f", up to about {closer:,} records apart with this epsilon (at_most)" if closer else ""
    return Refusal(
        required=f"{bound:,} records of every class are given up, so that each class must have more",
        found=f"about {usual[few]:,} of {classes.labels[few]!r}" if few is not None else f"{records:,} records in all",
        remedy=f"Hide secrets that are closer{most}; choose a larger epsilon; or give one distribution of a record, "
        "and ask for "
        "form='fill'.",
    )


def _law(hidden: Hidden) -> RecordLaw | Refusal:
    if hidden.law is None:
        return Refusal(
            required="to make up the missing records of a class, it must be known how its records are distributed",
            found="no distribution of a record",
            remedy="Pass law= a network of records, or ask for form='trim' with a delta.",
        )
    return hidden.law


def _fill(hidden: Hidden, epsilon: float, delta: float) -> TableRule | Refusal:
    law = _law(hidden)
    if isinstance(law, Refusal):
        return law
    noise, kind = _count_noise(hidden, law, epsilon)
    return TableRule(
        classes=hidden.classes,
        form="fill",
        noise=noise,
        given_up=0,
        law=law,
        guarantee=_with_law(hidden, law, epsilon, 0.0, kind),
    )


def _count_noise(hidden: Hidden, law: RecordLaw, epsilon: float) -> tuple[CountNoise, Kind]:
    """The noise on the numbers of records for a pure guarantee, which pays for what the law of a record may be off by.

    Under two secrets k records apart, and given the sizes of the classes, k places of the table at most (2 k for more
    than two classes) hold a made-up record under the one and a real one under the other.
    """
    moved, classes = hidden.classes.moved, len(hidden.classes)
    if hidden.share:
        return _share_noise(hidden, law, epsilon)
    left = (epsilon - up(moved * law.excess)) if math.isfinite(law.excess) else 0.0
    if not left > 0:
        raise RefusedError(
            "all models must nearly agree on how the records of a class are distributed",
            found=f"a record {_times(law.excess)} as likely under one as by the distribution that records are made up "
            "from, and "
            f"secrets {moved:,} records apart",
            remedy="Ask for form='trim' with a delta, which needs no distribution; or hide the secret by itself, with "
            "one distribution.",
        )
    scale = scale_of(moved, left)
    # what is made up must not be told from what is real in the other direction either
    told = law.shortfall - 2 / scale if classes == 2 else law.shortfall - 1 / scale
    if told > law.excess or (classes > 2 and told > 0):
        raise RefusedError(
            "no record may be much more likely by the distribution that records are made up from than under another "
            "model",
            found=f"one that is {_times(law.shortfall)} as likely",
            remedy="Ask for form='trim' with a delta, which needs no distribution.",
        )
    noise: CountNoise = MoveNoise(classes=classes, scale=scale)
    if law.excess or law.shortfall:
        return noise, "certified"
    least = _least_noise(hidden, epsilon)
    return least if least is not None and least.mean_moves < noise.mean_moves else noise, "exact"


def _least_noise(hidden: Hidden, epsilon: float) -> CalibratedCount | None:
    """The noise of least error on the number of records of one class, in a small table; else None."""
    framework = hidden.framework
    if framework is None or len(hidden.classes) > 2 or framework.schema.records > MOST_RECORDS_OPTIMAL:
        return None
    asked, mechanism = count(hidden.classes.predicates[0]), OptimalMechanism()
    if mechanism.supports(framework, asked, epsilon=epsilon) is not None:
        return None
    return CalibratedCount(calibration=mechanism.calibrate(framework, asked, epsilon=epsilon))


def _share_noise(hidden: Hidden, law: RecordLaw, epsilon: float) -> tuple[CountNoise, Kind]:
    """The noise on the number of records of the class whose share tells two distributions apart."""
    if law.gap:
        raise RefusedError(
            "the distributions of a pair must differ in the share of one class alone",
            found=f"classes whose records are distributed otherwise, in up to {100 * law.gap:.3g} % of the records",
            remedy="Name the class in which they differ by shares=, or release single answers.",
        )
    left = epsilon - up(2 * max(law.excess, law.shortfall) * hidden.classes.schema.records)
    found = plan(hidden.framework, count(hidden.classes.predicates[0]), checks.epsilon(left)).best
    return CalibratedCount(calibration=found), found.certificate.kind


def _both(hidden: Hidden, epsilon: float, delta: float) -> TableRule | Refusal:
    law = _law(hidden)
    if isinstance(law, Refusal):
        return law
    if not delta or not 0 < law.gap < 1 or hidden.share:
        known = "models that agree" if not law.gap else "models that may differ in every record"
        return Refusal(
            required="filling and trimming at once is for models that differ a little, and needs a delta",
            found=known if delta else "delta 0",
            remedy="Ask for form='fill' where models agree, else for form='trim' with a delta.",
        )
    moved = hidden.classes.moved
    noise = MoveNoise(classes=len(hidden.classes), scale=scale_of(moved, epsilon))

    def told(bound: int) -> float:
        return min(noise.passes(bound, moved), up(law.gap * noise.other_places(bound, moved)))

    low, high = -1, 1
    while told(high) > delta:
        low, high = high, 2 * high
    high = least_whole(low, high, lambda bound: told(bound) <= delta)
    refusal = _too_few(hidden, high)
    return refusal or TableRule(
        classes=hidden.classes,
        form="fill and trim",
        noise=noise,
        given_up=high,
        law=law,
        guarantee=_with_law(hidden, law, epsilon, min(delta, told(high)), "certified"),
    )


def _with_law(hidden: Hidden, law: RecordLaw, epsilon: float, delta: float, kind: Kind) -> Guarantee:
    framework = hidden.framework
    drawn = None if framework is None else posterior_of(framework)
    fitted = "" if drawn is None else f" {drawn.fitted_sentence('The distribution of made-up records was')}"
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        secrets=hidden.classes.protected if framework is None else framework.protected_secrets,
        models=1 if framework is None else framework.models,
        source=hidden.source if framework is not None else law.text,
        kind=kind,
        models_text="" if framework is None else models_text(framework),
        beyond_text=PERSONS + fitted,
        single_values=True,
        seen=SEEN,
    )
