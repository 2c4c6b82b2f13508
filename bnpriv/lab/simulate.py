"""A made-up table, drawn as a framework describes it; and what a release would be like on such tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.frameworks.question import Framework, require_framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.queries.asked import number_labels
from bnpriv.core.secrets import Pair
from bnpriv.errors import RefusedError, SecretError
from bnpriv.lab.attacks.result import NumpySampler, accuracy_bound, noisy
from bnpriv.lab.sampling.game import Assumed, SimulationRequest, notion_sampler
from bnpriv.progress import progress
from bnpriv.render.document import Code, Document, Paragraph, Table, fact
from bnpriv.render.figures import axes, label
from bnpriv.shown import Shown
from bnpriv.text import number_text, percent_text, rounded_up

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PROBABILITY = "probability of the secret"
"""Where the attributes of a made-up table say how often what was assumed happens."""


def simulate(
    framework: Framework, records: int | None = None, *, secret: Assumed | None = None, model: int = 0, seed: int = 0
) -> pd.DataFrame:
    """Make up a table as the model describes it, with the same rows for the same seed.

    The rows are invented, so they tell nothing about a real table; nor does anything protect them, and publishing
    statistics of them is no rehearsal of privacy. For that see `rehearse`.

    Parameters
    ----------
    framework : Framework
        It needs a law for every column of its schema: a declared one for every state of a parameter, the columns of a
        PyMC model, or a network or chain of records.
    records : int, optional
        Number of rows; the one that the schema declares by default.
    secret : mapping, optional
        What is true of some attributes; the rest is drawn given it. States of parameters, ``{"income": "high"}``, or
        the ends of an interval, ``{"income": (30, 40)}``; for value privacy states of the record in the middle of the
        table; for dataset privacy a value of the property, ``{"ill": 12}``; for distribution privacy
        ``{"the distribution": "distribution 2"}``, the first one by default.
    model : int
        Index of the model in Theta; for distribution privacy of the pair.
    seed : int
        Rows are drawn with NumPy's generator of this seed.

    Returns
    -------
    pandas.DataFrame
        One column per column of the schema; values inside the bounds, and none missing but gaps that are not counted:
        NaN, among categories the text "not counted". With a secret,
        ``attrs["probability of the secret"]`` says how often the model fits it.

    Raises
    ------
    FrameworkError
        If a column has no law, or only laws of the answer are declared.
    NetworkError
        If the network is given by intervals.
    RefusedError
        If what is assumed hardly ever comes up.
    SecretError
        If the secret is no state of the network, or has probability zero.
    ParameterError
        If the number of records, the model or the seed is out of range.

    Notes
    -----
    Parameters are drawn once from their exact joint law given the secret, by variable elimination; then every column
    is drawn by its own parameter alone, which is the model of distributional attribute privacy. Numbers of a model that
    is known by forward draws are drawn until they lie in the interval. Given a property, how many records add what to
    it is drawn from its exact law, and every record given what it adds; whole tables of a model are drawn until one has
    the property, whose value may then be a number or the ends of an interval.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "sat": [[0.9, 0.2], [0.1, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["weak", "strong"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> schema = bp.Schema(records=1000, columns={"sat": bp.Categorical(["fail", "pass"])})
    >>> framework = bp.DistributionalAttributePrivacy(
    ...     network, schema, "income", source="invented", laws={"sat": {"weak": 0.5, "strong": 1.0}}
    ... )
    >>> table = simulate(framework, 2, secret={"sat": "strong"})
    >>> table["sat"].tolist(), round(table.attrs["probability of the secret"], 6)
    (['pass', 'pass'], 0.38)
    """
    import pandas as pd

    require_framework(framework)
    if secret is not None and not isinstance(secret, Mapping):
        raise SecretError(
            "a secret to be assumed is a mapping from attributes to states",
            found=checks.type_text(secret),
            remedy='Write secret={"income": "high"}.',
        )
    asked = SimulationRequest(
        records=framework.schema.records
        if records is None
        else checks.whole("records", records, remedy="Ask for at least one row."),
        secret=secret or {},
        model=checks.whole("model", model, least=0),
        random=np.random.default_rng(checks.whole("seed", seed, least=0)),
    )
    with progress("drawing records"):
        found = notion_sampler(framework).table(framework, asked)
    table = pd.DataFrame(dict(found.columns))
    if asked.secret and found.probability is not None:
        table.attrs[PROBABILITY] = found.probability
    return table


# --------------------------------------------------------------------------------------------------
# A release rehearsed on such tables: what comes out under either secret, before any data are touched.
# --------------------------------------------------------------------------------------------------

BARS = 40

MOST_LABELS = 12
"""Numbers of an answer of which each is listed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal(Shown):
    """Made-up answers with made-up noise under two secrets, and how well they can be told apart.

    Print it.

    Parameters
    ----------
    calibration : Calibration
        What was rehearsed.
    protected : str
        The protected attribute.
    pair : Pair
        The secrets that need the most noise.
    model : int
        The index in Theta of the model that needs it.
    labels : tuple of str
        One per number of the answer.
    first, second : ndarray of shape (draws, outputs)
        Released answers under the first and the second secret.
    errors : ndarray of shape (2 draws,)
        The largest error of any number in each of them.
    correct : float
        How often a guesser names the right secret after one answer. The guesser knows both laws, or learned them from
        other made-up answers, as `caveats` then says: the best attacker may then be right more often.
    caveats : tuple of str
        Where the rehearsal is not exact.
    """

    calibration: Calibration
    protected: str
    pair: Pair
    model: int
    labels: tuple[str, ...]
    first: FloatArray
    second: FloatArray
    errors: FloatArray
    correct: float
    caveats: tuple[str, ...]

    @property
    def values(self) -> Mapping[str, FloatArray]:
        """Return the released answers, of shape (draws, outputs), by secret."""
        first, second = self.pair.sides
        return {first: self.first, second if second != first else f"{second} again": self.second}

    @property
    def bound(self) -> float:
        """Return how often any guesser may be right, at even odds: ``(exp(eps) + delta) / (1 + exp(eps))``."""
        return accuracy_bound(self.calibration.guarantee.epsilon, self.calibration.guarantee.delta)

    @property
    def margin(self) -> float:
        """Return how far `correct` may be off by chance, in 95 % of rehearsals."""
        return 1.96 * 0.5 / math.sqrt(len(self.first) + len(self.second))

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per made-up answer: the secret, then the numbers."""
        import pandas as pd

        rows = np.concatenate([self.first, self.second])
        secrets = np.repeat(list(self.values), [len(self.first), len(self.second)])
        columns = ["secret", *(name if name != "secret" else "secret (answer)" for name in self.labels)]
        return pd.concat([pd.Series(secrets), pd.DataFrame(rows)], axis=1).set_axis(columns, axis=1)

    def plot(self, ax: Axes | None = None, *, output: int = 0) -> Axes:
        """Draw how one number of the answer spreads under each secret.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        output : int
            Which number of the answer.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        drawn = axes(ax)
        both = np.concatenate([self.first[:, output], self.second[:, output]])
        edges = np.histogram_bin_edges(both, bins=BARS)
        for secret, values in self.values.items():
            drawn.hist(values[:, output], bins=edges.tolist(), alpha=0.5, label=label(f"{self.protected} = {secret}"))
        drawn.locator_params(axis="x", nbins=5)
        drawn.set_xlabel(label(self.labels[output]))
        drawn.set_ylabel("made-up releases")
        drawn.set_title(f"told apart in {percent_text(self.correct)}, allowed {percent_text(self.bound)}")
        drawn.legend()
        return drawn

    @property
    def document(self) -> Document:
        """Return how well the secrets can be told apart, and what comes out under each."""
        calibration, draws = self.calibration, len(self.first)
        half, most = np.quantile(self.errors, [0.5, 0.95])
        size = "no noise" if calibration.scale == 0 else f"noise of scale {number_text(calibration.scale)}"
        excess = "" if self.correct <= self.bound else " (what is above that is chance, if the guarantee holds)"
        allowed = f"{rounded_up(100 * self.bound):g} %"
        guess = (
            f"A guesser who sees one answer names the right secret in {percent_text(self.correct)} "
            f"of the cases (give or take {percent_text(self.margin)}); a coin does in 50 %, the guarantee allows "
            f"{allowed}{excess}."
        )
        error = (
            f"Half of the answers err by at most {number_text(float(half))}, 95 % by at most "
            f"{number_text(float(most))} (calibrated: {number_text(calibration.quantile(0.95))})."
        )
        model = "" if calibration.framework.models == 1 else f", model {self.model}"
        rows: list[tuple[str, str, str, str]] = []
        for k, name in enumerate(self.labels if len(self.labels) <= MOST_LABELS else ()):
            for secret, values in self.values.items():
                ends = " and ".join(number_text(float(end)) for end in np.quantile(values[:, k], [0.025, 0.975]))
                rows.append((name, secret, number_text(float(values[:, k].mean())), ends))
        table = Table(
            caption="What comes out under either secret",
            header=("number", "secret", "mean", "95 % lie between"),
            rows=rows,
            numbers=(2, 3),
        )
        notes = (error, *self.caveats, "No data were touched, and nothing here is protected.")
        return Document(
            kind="rehearsal",
            headline=(
                "Rehearsal of ",
                Code(str(calibration.query)),
                f" at epsilon {calibration.epsilon:g}: told apart in {percent_text(self.correct)}, allowed {allowed}",
            ),
            lead=guess,
            short=(
                guess,
                f"Secrets: {self.protected}: {self.pair}{model}.",
                error,
                "No data were touched, and nothing here is protected.",
                "Next: bp.release(calibration, data) releases it; .explain() tells what came out.",
            ),
            number=percent_text(self.correct),
            facts=(
                fact("Secrets", f"{self.protected}: {self.pair}{model}"),
                fact("Made up", f"{draws:,} answers under each of them, {size}"),
            ),
            answer=(*((table,) if rows else ()), *map(Paragraph, notes)),
            data={
                "query": str(calibration.query),
                "epsilon": calibration.epsilon,
                "draws": draws,
                "protected": self.protected,
                "pair": str(self.pair),
                "model": self.model,
                "correct": self.correct,
                "margin": self.margin,
                "bound": self.bound,
                "error_50": float(half),
                "error_95": float(most),
                "caveats": list(self.caveats),
            },
        )

    def __repr__(self) -> str:
        return f"Rehearsal({self.calibration.query}: told apart in {self.correct:.3g}, allowed {self.bound:.3g})"


def rehearse(calibration: Calibration, draws: int = 1000, *, seed: int = 0) -> Rehearsal:
    """Make up releases under the two secrets that need the most noise, and try to tell them apart.

    Parameters
    ----------
    calibration : Calibration
        Its framework needs a law of the answer: laws of the columns that the query reads, the columns of a PyMC model,
        a network or chain of records, or laws of the answer itself.
    draws : int
        Made-up releases per secret.
    seed : int
        Everything is drawn with NumPy's generator of this seed, the noise too: nothing here needs protection.

    Returns
    -------
    Rehearsal
        Print it.

    Raises
    ------
    FrameworkError
        If a column that the query reads has no law; the message names the key to add.
    NetworkError
        If the network is given by intervals.
    QueryError
        If the query is the user's own function.
    RefusedError
        If the guesser does not know the law of the noise.
    SizeError
        If the query reads too many columns at once.

    Notes
    -----
    The two secrets are those that decided the noise. Parameters are drawn from their exact joint law given a secret; of
    a count over the table two values as far apart as the secret allows, around the likeliest; of single values one
    record, or one step of a chain, in either state; of a parameter that may be any number two intervals.

    Sums over independent records are drawn from their exact law, for declared laws of columns sums of values from the
    normal law with their exact mean and covariance; no record is made up, so that a million records cost no more than
    one. Where parameters have states, the guesser weighs all combinations of them by Bayes' rule, and takes the answer
    given the parameters as normal, and with Laplace noise its numbers as independent; elsewhere it learns both laws
    from other made-up answers. Whatever it does, the guarantee bounds how often it is right:
    (exp(epsilon) + delta) / (1 + exp(epsilon)) at even odds.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "sat": [[0.6, 0.4], [0.4, 0.6]]},
    ...     states={"income": ["low", "high"], "sat": ["weak", "strong"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> schema = bp.Schema(records=1_000_000, columns={"sat": bp.Categorical(["fail", "pass"])})
    >>> framework = bp.DistributionalAttributePrivacy(
    ...     network, schema, "income", source="invented", laws={"sat": {"weak": 0.5, "strong": 0.7}}
    ... )
    >>> query = bp.proportion(bp.col("sat") == "pass")
    >>> rehearsal = rehearse(bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0))
    >>> 0.55 < rehearsal.correct < 0.65, round(rehearsal.bound, 3)
    (True, 0.731)
    """
    draws = checks.whole("draws", draws)
    framework = getattr(calibration, "framework", None)
    if framework is None:
        raise RefusedError(
            "a rehearsal needs a calibration",
            found=checks.type_text(calibration),
            remedy="Rehearse for example plan(framework, query, epsilon).best.",
        )
    game = notion_sampler(framework).game(framework, calibration)
    game.require(calibration.noise)
    random = np.random.default_rng(checks.whole("seed", seed, least=0))
    with progress("rehearsing the release"):
        exact = [side(draws, random) for side in game.sides]
        first, second = (noisy(calibration.noise, values, NumpySampler(random)) for values in exact)
        correct, caveats = game.guessed(first, second, calibration.noise, random)
    return Rehearsal(
        calibration=calibration,
        protected=game.protected,
        pair=game.pair,
        model=game.model,
        labels=number_labels(calibration.query, calibration.framework.schema),
        first=first,
        second=second,
        errors=np.max(np.abs(np.concatenate([first - exact[0], second - exact[1]])), axis=1),
        correct=correct,
        caveats=caveats,
    )
