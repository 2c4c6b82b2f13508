"""Property inference with shadow tables: a classifier learns from public tables what an answer tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Noise, NoNoise
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.schema import Schema
from bnpriv.errors import MissingExtraError, ParameterError
from bnpriv.lab.attacks.likelihood_ratio import KnownNoise, known_noise
from bnpriv.lab.attacks.result import Attack, NumpySampler, noisy, share_interval, share_right, strata, values_of
from bnpriv.mechanisms.directional import DirectionalLaplace
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.progress import progress

# --------------------------------------------------------------------------------------------------
# Property inference with shadow tables: a classifier learns from public tables what an answer tells of a property.
# --------------------------------------------------------------------------------------------------

LEAST_TABLES = 10


class BinaryClassifier(Protocol):
    """What scikit-learn calls a classifier."""

    def fit(self, X: FloatArray, y: NDArray[np.int64]) -> object:
        """Learn which of two labels belongs to which rows of numbers."""
        ...

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Return a label for every row."""
        ...


def shadow_attack(
    public_table: object,
    query: Query | str,
    property: Query | Predicate | str,
    values: Sequence[float],
    records: int,
    *,
    defence: Calibration | Noise | None = None,
    shadow_tables: int = 200,
    test_tables: int = 2000,
    classifier: BinaryClassifier | None = None,
    schema: Schema | None = None,
    seed: int = 0,
) -> Attack:
    """Return how often a classifier names the right value of a property, that has learned from shadow tables.

    For each of two values of the property the attacker draws tables from a public one, answers the query with the
    noise of the defence, and trains a classifier on the answers; it is tried on answers to new tables.

    Parameters
    ----------
    public_table : table, str or path
        A data frame of any engine, or a Parquet or CSV file.
    query : Query or str
        What is released of a table of `records` records.
    property : Query, Predicate or str
        A count or a proportion, or the text of one, as in ``"proportion(rich == 1)"``; a condition that is built with
        `bnpriv.col` stands for its proportion.
    values : (float, float)
        The two values of the property that the attacker has to tell apart.
    records : int
        The number of records of a table.
    defence : Calibration or Noise, optional
        The noise; none by default. A calibration also tells what is guaranteed.
    shadow_tables : int
        Tables for each value from which the classifier learns.
    test_tables : int
        Tables for each value on which it is tried.
    classifier : scikit-learn classifier, optional
        Logistic regression on standardised answers by default.
    schema : Schema, optional
        Bounds and categories of the columns; by default those of the public table.
    seed : int
        Of NumPy's generator that draws tables and noise.

    Returns
    -------
    Attack
        Print it.

    Raises
    ------
    ParameterError
        If there are not two values, or the public table has too few records for them.
    QueryError, DataError, FileError
        As `laws_by_property` does.
    MissingExtraError
        If no classifier is given and scikit-learn is not installed.

    Notes
    -----
    Chen, Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy Mechanisms" (AISTATS 2023),
    section 5.3: 200 shadow data sets of 100 records.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnpriv.core.queries.asked import mean
    >>> from bnpriv.core.queries.predicates import col
    >>> public = pd.DataFrame({"age": [30, 40, 50, 60] * 50, "rich": [0, 0, 1, 1] * 50})
    >>> attack = shadow_attack(public, mean("age"), col("rich") == 1, (0.2, 0.8), records=20, test_tables=50)
    >>> attack.accuracy
    1.0
    """
    two = values_of(values)
    if len(two) != 2:
        raise ParameterError(
            "two values of the property are told apart", found=f"{len(two)}", remedy="Pass for example (0.45, 0.55)."
        )
    model = _usual() if classifier is None else _classifier(classifier)
    split = strata(public_table, query, property, records, schema)
    learned, tried = (
        checks.whole(name, count, least=LEAST_TABLES)
        for name, count in (("shadow_tables", shadow_tables), ("test_tables", test_tables))
    )
    random = np.random.default_rng(checks.whole("seed", seed, least=0))
    noise = _noise(defence, len(split.form.rows))
    with progress("drawing shadow tables"):
        answers = [noisy(noise, split.drawn(value, learned + tried, random), NumpySampler(random)) for value in two]
    if not all(bool(np.all(np.isfinite(each))) for each in answers):
        raise ParameterError(
            "the answers with the noise of the defence must be finite",
            found="noise that leads beyond the doubles",
            remedy="Choose a smaller scale.",
        )
    guarantee = defence.guarantee if isinstance(defence, Calibration) else None
    return property_inference(
        (answers[0][:learned], answers[1][:learned]),
        (answers[0][learned:], answers[1][learned:]),
        seen=str(as_query(query)),
        secrets=f"{split.hidden}: {values[0]:g} against {values[1]:g}",
        defence="no defence" if defence is None else str(getattr(defence, "mechanism", defence)),
        guarantee=guarantee,
        classifier=model,
        error=noise.error().upper,
    )


def property_inference(
    learned: tuple[FloatArray, FloatArray],
    tried: tuple[FloatArray, FloatArray],
    *,
    seen: str,
    secrets: str,
    defence: str = "no defence",
    guarantee: Guarantee | None = None,
    classifier: BinaryClassifier | None = None,
    error: float | None = None,
) -> Attack:
    """Return how often a classifier names the right secret from what is seen of a table, such as a model trained on it.

    Parameters
    ----------
    learned : tuple of two ndarray of shape (shadow tables, numbers)
        What is seen of shadow tables under the first and the second secret, in numbers: the parameters of a model that
        was trained on each of them, or its predictions.
    tried : tuple of two ndarray of shape (tables, numbers)
        The same of other tables, on which the classifier is tried.
    seen, secrets, defence : str
        What is seen, the two secrets, and what hides them, in words.
    guarantee : Guarantee, optional
        What bounds the attack: that of a calibration, or of a private table.
    classifier : scikit-learn classifier, optional
        Logistic regression on standardised numbers by default.
    error : float, optional
        The mean error of what is seen, where it is an answer.

    Returns
    -------
    Attack

    Raises
    ------
    ParameterError
        If there are not as many tables under either secret, or the classifier is none or does not return one label for
        every table.
    MissingExtraError
        If no classifier is given and scikit-learn is not installed.

    Notes
    -----
    Ganju, Wang, Yang, Gunter, Borisov, "Property Inference Attacks on Fully Connected Neural Networks using Permutation
    Invariant Representations" (CCS 2018).

    Examples
    --------
    >>> few, many = np.array([[10.0], [11.0]]), np.array([[20.0], [21.0]])
    >>> property_inference((few, many), (few, many), seen="a mean", secrets="few against many").accuracy
    1.0
    """
    model = _usual() if classifier is None else _classifier(classifier)
    if not (learned[0].shape == learned[1].shape and tried[0].shape == tried[1].shape):
        raise ParameterError(
            "both secrets are equally likely", found="more tables under one", remedy="Pass as many under either."
        )
    labels, shadows, tables = np.arange(2), len(learned[0]), len(tried[0])
    model.fit(np.concatenate(learned), np.repeat(labels, shadows))
    guessed = np.asarray(model.predict(np.concatenate(tried)))
    if guessed.shape != (2 * tables,):
        raise ParameterError(
            "a classifier must predict one label for each row",
            found=f"labels of shape {guessed.shape} for {2 * tables:,} rows",
            remedy="Return an array with a 0 or a 1 for every row.",
        )
    accuracy = float(np.count_nonzero(guessed == np.repeat(labels, tables))) / (2 * tables)
    return Attack(
        method=f"{shadows:,} shadow tables",
        query=seen,
        secrets=secrets,
        accuracy=accuracy,
        interval=share_interval(accuracy, 2 * tables),
        answers=2 * tables,
        epsilon=None if guarantee is None else guarantee.epsilon,
        delta=None if guarantee is None else guarantee.delta,
        mechanism=defence,
        error=error,
    )


def _noise(defence: Calibration | Noise | None, dimension: int) -> Noise:
    if defence is None:
        return NoNoise(dimension)
    noise = defence.noise if isinstance(defence, Calibration) else defence
    if not callable(getattr(noise, "sample", None)) or not isinstance(getattr(noise, "dimension", None), int):
        raise ParameterError(
            "the defence must be a calibration or noise",
            found=checks.type_text(defence),
            remedy="Pass what a mechanism's calibrate returns, or for example bnpriv.noise.Laplace(2.0).",
        )
    if noise.dimension != dimension:
        raise ParameterError(
            f"the defence must add noise to the {dimension} numbers of the answer",
            found=f"noise for {noise.dimension}",
            remedy="Calibrate the same query.",
        )
    return noise


def _classifier(given: object) -> BinaryClassifier:
    if isinstance(given, type) or not all(callable(getattr(given, name, None)) for name in ("fit", "predict")):
        raise ParameterError(
            "a classifier must have the methods fit and predict",
            found=checks.type_text(given),
            remedy="Pass one of scikit-learn, for example RandomForestClassifier().",
        )
    return cast(BinaryClassifier, given)


def _usual() -> BinaryClassifier:
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as missing:
        raise MissingExtraError(
            "the usual classifier is that of scikit-learn",
            found="no scikit-learn",
            remedy="Install scikit-learn, or pass a classifier with fit and predict.",
        ) from missing
    return cast(BinaryClassifier, Pipeline([("scale", StandardScaler()), ("guess", LogisticRegression())]))


# --------------------------------------------------------------------------------------------------
# A guesser who learned the laws of an answer under two secrets from made-up answers.
# --------------------------------------------------------------------------------------------------

AnswersOfBoth = tuple[FloatArray, FloatArray]
"""Answers of shape (draws, outputs) under the first and the second secret."""

MOST_DENSITIES = 2**20
"""Densities that are held at once."""


ShapedNoise = CorrelatedGaussian | DirectionalLaplace
"""Noise whose numbers depend on each other."""


def learnable(noise: Noise) -> KnownNoise | DiscreteLaplace | ShapedNoise | Channel:
    """Return noise whose density, or probability, is known.

    Raises
    ------
    RefusedError
        If it is neither Laplace, continuous or whole, nor normal.
    """
    shaped = (DiscreteLaplace, CorrelatedGaussian, DirectionalLaplace, Channel)
    return noise if isinstance(noise, shaped) else known_noise(noise)


def told_apart(
    released: AnswersOfBoth, learned: AnswersOfBoth, noise: KnownNoise | DiscreteLaplace | ShapedNoise | Channel
) -> float:
    """Return how often the likelihood ratio of the learned laws names the right secret.

    Parameters
    ----------
    released : tuple of two ndarray of shape (draws, outputs)
        Answers with noise under the first and the second secret.
    learned : tuple of two ndarray of shape (other draws, outputs)
        Other answers, without noise.
    noise : Laplace, Gaussian, DiscreteLaplace, CorrelatedGaussian, DirectionalLaplace, Channel or NoNoise
        What was added to `released`.

    Returns
    -------
    float
        Even choices count half.

    Notes
    -----
    The law of a released answer is taken as the mean of the densities of the noise around the learned answers. Without
    noise these are smoothed by normal densities of the width 1.06 s n^(-1/5) (Silverman's rule), and with noise whose
    numbers depend on each other by these and normal ones of its covariance. The fewer answers are
    learned, the worse the guesser: it is never better than the best one, which the guarantee bounds.

    Examples
    --------
    >>> from bnpriv.core.noise import Laplace
    >>> far = np.array([[0.0]]), np.array([[9.0]])
    >>> told_apart(far, far, Laplace(1.0))
    1.0
    """
    if isinstance(noise, Channel):
        # by the laws of the outputs that learned answers have
        laws: list[FloatArray] = []
        for side in learned:
            places, counts = np.unique([noise.place(x) for x in side[:, 0].tolist()], return_counts=True)
            laws.append(counts / len(side) @ (noise.numerators[places] / noise.denominator))
        places = [np.searchsorted(noise.outputs, side[:, 0]) for side in released]
        return share_right((laws[0][seen], laws[1][seen]) for seen in places)
    return share_right((log_ratios(values, learned, noise), np.zeros(len(values))) for values in released)


def log_ratios(
    values: FloatArray, learned: AnswersOfBoth, noise: KnownNoise | DiscreteLaplace | ShapedNoise
) -> FloatArray:
    """Return the log ratios of the learned densities of released answers, of shape (draws,); see `told_apart`."""
    if isinstance(noise, (CorrelatedGaussian, DirectionalLaplace)):
        # smoothing and noise become independent and of deviation 1, for answers in rows
        smooth = _widths(learned, NoNoise(noise.dimension))
        factor = np.linalg.cholesky(noise.covariance + np.diag(np.square(smooth)))
        whiten = np.asarray(np.linalg.inv(factor).T, dtype=np.float64)
        values, learned = values @ whiten, (learned[0] @ whiten, learned[1] @ whiten)
        noise = Gaussian(1.0, noise.dimension)
    widths = _widths(learned, noise)
    one, other = (_log_density(values, side, noise, widths) for side in learned)
    return one - other


def _widths(learned: AnswersOfBoth, noise: KnownNoise | DiscreteLaplace) -> FloatArray:
    """Return the scale of the noise, or the width that stands for none, of every output."""
    if not isinstance(noise, NoNoise):
        return np.array(noise.scales)
    spread = np.maximum(learned[0].std(axis=0), learned[1].std(axis=0))
    widths: FloatArray = 1.06 * spread * float(len(learned[0])) ** -0.2
    return np.where(widths > 0, widths, 1.0)


def _log_density(
    values: FloatArray, learned: FloatArray, noise: KnownNoise | DiscreteLaplace, widths: FloatArray
) -> FloatArray:
    """Return log densities up to a constant, of shape (draws,)."""
    atoms, counts = np.unique(learned, axis=0, return_counts=True)
    weights = np.log(counts / len(learned))
    step = max(1, MOST_DENSITIES // len(atoms))
    square = isinstance(noise, (Gaussian, NoNoise))
    found: list[FloatArray] = []
    for start in range(0, len(values), step):
        logs = np.broadcast_to(weights, (len(values[start : start + step]), len(atoms))).copy()
        for k, width in enumerate(widths):
            away = np.abs(values[start : start + step, k, np.newaxis] - atoms[:, k]) / width
            logs -= away**2 / 2 if square else away
        found.append(np.logaddexp.reduce(logs, axis=1))
    return np.concatenate(found)
