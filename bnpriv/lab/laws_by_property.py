"""Laws of an answer to small tables in which a property has given values, from a public table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from bnpriv import checks
from bnpriv.core.distributions import Normal
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.schema import Schema
from bnpriv.errors import ParameterError
from bnpriv.lab.attacks.result import strata, values_of

LEAST_RESAMPLES = 100


def laws_by_property(
    public_table: object,
    query: Query | str,
    property: Query | Predicate | str,
    values: Sequence[float],
    records: int,
    *,
    schema: Schema | None = None,
    covariance: Literal["own", "mean"] = "own",
    resamples: int | None = None,
    seed: int = 0,
) -> tuple[Normal, ...]:
    """Return the normal laws of an answer to tables that are drawn from a public one with a given property.

    A table consists of records that are drawn without replacement, as many with the property as its value says. Mean
    and covariance of the answer are then exact; that its law is normal is an assumption, the better the more records.

    Parameters
    ----------
    public_table : table, str or path
        A data frame of any engine, or a Parquet or CSV file, as for `bnpriv.release`; all of it must be public.
    query : Query or str
        What is asked of a table of `records` records: a sum over records, or a stack of several.
    property : Query, Predicate or str
        A count or a proportion, or the text of one, as in ``"proportion(rich == 1)"``; a condition that is built with
        `bnpriv.col` stands for its proportion.
    values : sequence of float
        Values of the property, for example the shares ``(0.45, 0.55)``.
    records : int
        The number of records of a drawn table.
    schema : Schema, optional
        Bounds and categories of the columns; by default those of the public table.
    covariance : {"own", "mean"}
        Of every law its own, or of all laws the mean of theirs, for mechanisms that need a common one; the laws are
        then estimates.
    resamples : int, optional
        Draw so many tables for every value, and estimate mean and covariance from them, as published experiments do;
        the laws are then estimates.
    seed : int
        Of the generator that draws them.

    Returns
    -------
    tuple of Normal
        One for every value, in their order; two of them make a pair of `DistributionPrivacy`.

    Raises
    ------
    DataError, FileError
        If the table cannot be read.
    QueryError
        If the query is no sum over records, or the property neither a count nor a proportion.
    ParameterError
        If a value is not that of a whole number of records, or the public table has too few of a kind.

    Notes
    -----
    Chen, Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy Mechanisms" (AISTATS 2023),
    section 5, which estimates the means from resampled tables. Sampling without replacement from a stratum of N records
    gives m records a covariance of m (1 - m/N) times that of the stratum (Cochran, "Sampling Techniques", chapter 2).

    Examples
    --------
    >>> import pandas as pd
    >>> from bnpriv.core.queries.asked import mean
    >>> from bnpriv.core.queries.predicates import col
    >>> public = pd.DataFrame({"age": [30, 40, 50, 60] * 50, "rich": [0, 0, 1, 1] * 50})
    >>> few, many = laws_by_property(public, mean("age"), col("rich") == 1, (0.4, 0.6), records=20)
    >>> few.mean.round(9).tolist(), many.mean.round(9).tolist()
    ([43.0], [47.0])
    """
    checks.member("covariance", covariance, ("own", "mean"), error=ParameterError)
    asked = values_of(values)
    split = strata(public_table, query, property, records, schema)
    if resamples is None:
        found = [split.moments(value) for value in asked]
    else:
        draws = checks.whole("resamples", resamples, least=LEAST_RESAMPLES)
        random = np.random.default_rng(checks.whole("seed", seed, least=0))
        tables = [split.drawn(value, draws, random) for value in asked]
        found = [(each.mean(axis=0), np.atleast_2d(np.cov(each, rowvar=False))) for each in tables]
    if covariance == "mean":
        common = np.mean([spread for _, spread in found], axis=0)
        found = [(mean, common) for mean, _ in found]
    kind = "exact" if resamples is None and covariance == "own" else "estimate"
    return tuple(Normal(mean, spread, kind=kind) for mean, spread in found)
