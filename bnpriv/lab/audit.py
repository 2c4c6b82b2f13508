"""An audit: a lower bound on epsilon from outputs alone: of a calibration, a private table, a function of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.columns import Categorical
from bnpriv.core.frameworks.question import Framework, require_framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import Noise, Sampler, Scaled, SecureSampler
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import DataError, ParameterError, RefusedError
from bnpriv.lab.attacks.result import NumpySampler
from bnpriv.lab.attacks.shadow import learnable, log_ratios
from bnpriv.lab.betting import Features, Secrets, Wealth, best_pair, blocks, cautious, cell_ends, counted, power
from bnpriv.lab.sampling.game import Assumed, AttackGame, SimulationRequest, notion_sampler
from bnpriv.progress import progress
from bnpriv.render.document import Code, Document, Figure, Paragraph, fact, later
from bnpriv.render.figures import axes, bound_chart
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import evaluate
from bnpriv.tables.private_table.counts import CalibratedCount
from bnpriv.tables.private_table.private_table import PrivateTable
from bnpriv.text import and_text, full_text, lower_text, percent_text, shorten, times_text, upper_chance, visible

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from bnpriv.core.noise import DiscreteLaplace
    from bnpriv.lab.attacks.likelihood_ratio import KnownNoise
    from bnpriv.lab.attacks.shadow import ShapedNoise

RUNS, RUNS_OF_FUNCTION = 20_000, 2_000
"""Outputs that are drawn unless somebody says how many."""

DRAWN_BY_AUDITS, FEW_DRAWN = 2**11, 64
"""Outputs that are drawn between two looks for Ctrl-C, and where each takes steps of Python."""

STRENGTH, SHARE_OF_AUDITS = 1.2, 0.95
"""How many times the claim an audit should see, and how often."""

FEWEST_MADE_UP, MOST_MADE_UP = 2**16, 2**20
"""Outputs with too little noise, made up to tell how often an audit sees them: four times as many as were seen."""

LEARNED = 128
"""Made-up answers under each secret around which the noise of a vector is looked for."""

LEAST_CLAIM, MOST_CLAIM, GRID_STEPS, CLAIM_STEPS = 1e-3, 30.0, 80, 40
"""Epsilons that are bet against: so many between two ends, and so many up to the claim and up to twice it."""

STREAM = 20_311
"""Goes into every seed, so that secrets are drawn by other numbers than an audited function with the same seed uses."""

FACTS_OF_AUDITS = (
    *("audited", "protected", "secrets", "verdict", "bound", "confidence", "epsilon", "delta", "outputs", "stopped"),
    *("power", "power_of"),
)
"""What JSON holds of an audit beside its trail."""

DrawsOutputs = Callable[[Secrets, np.random.Generator], FloatArray]
"""From the secrets of some runs to their outputs, of shape (runs, numbers)."""


# --------------------------------------------------------------------------------------------------
# The result.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit(Shown):
    """What the outputs of some code showed of how much it tells; print it.

    Parameters
    ----------
    audited : str
        What was audited, in words.
    protected, secrets : str
        The protected attribute, and the two secrets that were drawn.
    bound : float
        Epsilon is larger than this, with `confidence`; 0 where nothing was shown.
    confidence : float
        How sure that is, whenever somebody stops.
    epsilon : float or None
        The claim; None where nothing is claimed.
    delta : float
        Of the claim and of the bound.
    outputs : int
        How many were seen.
    trail : tuple of (int, float)
        Outputs seen, and the bound by then.
    power : float or None
        How often an audit of so many outputs shows `STRENGTH` times the claim; None without a claim.
    power_of : str
        What was taken for that, in words.
    stopped : bool
        Whether Ctrl-C ended it before all outputs were seen.
    """

    audited: str
    protected: str
    secrets: str
    bound: float
    confidence: float
    epsilon: float | None
    delta: float
    outputs: int
    trail: tuple[tuple[int, float], ...]
    power: float | None
    power_of: str
    stopped: bool

    @property
    def exceeds(self) -> bool:
        """Whether the outputs refute the claim."""
        return self.epsilon is not None and self.bound >= self.epsilon

    @property
    def verdict(self) -> str:
        """What was found, in a few words."""
        if self.epsilon is None:
            return "nothing was claimed"
        return "exceeds the claim" if self.exceeds else "no more than the claim was seen"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bound against the number of outputs, on a logarithmic axis, with the claim as a line.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        drawn = axes(ax)
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        drawn.step(*zip(*self.trail, strict=True), where="post", label="shown by the outputs")
        if self.epsilon is not None:
            drawn.axhline(self.epsilon, color="tab:red", linestyle="--", label="claimed")
        drawn.set_xscale("log")
        drawn.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        drawn.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        drawn.xaxis.set_minor_formatter(NullFormatter())
        drawn.set_ylim(bottom=0)
        drawn.set_xlabel("outputs")
        drawn.set_ylabel("epsilon")
        drawn.set_title(f"{self.verdict}, {self.outputs:,} outputs")
        drawn.legend()
        return drawn

    @property
    def _claim_text(self) -> str:
        if self.epsilon is None:
            return "Nothing was claimed"
        but = f", but for a probability of {upper_chance(self.delta)}" if self.delta else ""
        return f"The claim allows {times_text(self.epsilon)}{but}"

    @property
    def _power_text(self) -> str:
        if self.power is None:
            return "How much would have been seen is not known without a claim: pass epsilon=."
        return (
            f"Would have seen {STRENGTH:g} times the claim in {percent_text(self.power)} of audits ({self.power_of})."
        )

    @property
    def document(self) -> Document:
        """Return the bound, the claim, and how much would have been seen."""
        found = f"{lower_text(math.exp(self.bound), 3)} times ({lower_text(self.bound)} nats)"
        sure = percent_text(self.confidence)
        shown = (
            f"With {sure} confidence an output moves the odds of the two secrets more than {found}"
            if self.bound
            else f"With {sure} confidence nothing was shown: the outputs look alike under both secrets"
        )
        stopped = ", stopped by Ctrl-C" if self.stopped else ""
        claim = "" if self.epsilon is None else f", claimed {full_text(self.epsilon)}"
        seen_well = self.power is not None and self.power >= SHARE_OF_AUDITS
        secrets = f"{self.protected}: {self.secrets}"
        counted = f"{self.outputs:,} outputs{stopped}; the bound holds whenever one stops."
        next_step = (
            "Next: do not release with it; .to_html() shows how the bound grew."
            if self.exceeds
            else "Next: more runs= (--runs) see smaller excesses; bp.verify replays the proof of a calibration."
        )
        return Document(
            kind="audit",
            headline=("Audit of ", Code(self.audited), f": epsilon above {lower_text(self.bound)}{claim}"),
            verdict=self.verdict,
            tone="poor" if self.exceeds else "good" if seen_well else "plain",
            lead=f"{shown}. {self._claim_text}.",
            short=(
                f"{self.verdict.capitalize()}. {shown}.",
                f"{self._claim_text}.",
                f"Secrets: {shorten(secrets, 80)}. Seen: {counted}",
                f"Power: {self._power_text[0].lower()}{self._power_text[1:]}",
                next_step,
            ),
            number=f"{self.bound:g}",
            facts=(fact("Secrets", secrets), fact("Seen", counted), fact("Power", self._power_text)),
            answer=later(lambda: (_figure(self), Paragraph(NO_PROOF))),
            data={name: getattr(self, name) for name in FACTS_OF_AUDITS} | {"trail": [*map(list, self.trail)]},
        )

    def __repr__(self) -> str:
        claim = "" if self.epsilon is None else f", claimed {self.epsilon:g}"
        return visible(f"Audit({self.audited}: epsilon above {self.bound:.4g}{claim})")


NO_PROOF = (
    "An audit shows what is wrong, never that all is well: it looks at one pair of secrets, under one model, and at "
    "what its bettors look at."
)


def _figure(found: Audit) -> Figure:
    said = f"After {found.outputs:,} outputs the bound is {lower_text(found.bound)}."
    claim = None if found.epsilon is None else (found.epsilon, "claimed")
    chart = bound_chart(found.trail, claim, across="outputs", up="epsilon", title="The bound on epsilon", desc=said)
    return Figure(chart, caption="Lower bound on epsilon by the number of outputs seen")


# --------------------------------------------------------------------------------------------------
# What is audited: where outputs come from, under which two secrets, and what is claimed of them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What draws outputs given secrets, and what is claimed of it.

    Parameters
    ----------
    what, protected, secrets : str
        In words.
    draw : DrawsOutputs
    epsilon : float or None
    delta : float
    at_once : int
        Outputs that are drawn between two looks for Ctrl-C.
    runs : int
        Outputs by default.
    thin : DrawsOutputs, optional
        The same with too little noise; None where nobody knows how to make that.
    """

    what: str
    protected: str
    secrets: str
    draw: DrawsOutputs
    epsilon: float | None
    delta: float
    at_once: int
    runs: int
    thin: DrawsOutputs | None = None


def with_noise(noise: Noise, exact: FloatArray, sampler: Sampler) -> FloatArray:
    """Return answers, of shape (draws, outputs), each with noise of its own, by the code that a release runs."""
    if not isinstance(noise, Scaled):
        return np.array([noise.sample(row, sampler) for row in exact.tolist()])
    # all answers are one long answer to noise of independent numbers
    longer = replace(noise, dimension=exact.size, weights=noise.weights * len(exact))
    return np.array(longer.sample(exact.ravel().tolist(), sampler)).reshape(exact.shape)


def _either(secrets: Secrets, sides: Sequence[Callable[[int, np.random.Generator], FloatArray]], random: Any) -> Any:
    """Rows of the first side where the secret is 1, and of the second where it is 0."""
    parts = [side(count, random) for side, count in zip(sides, (secrets.sum(), (~secrets).sum()), strict=True) if count]
    rows = np.empty((len(secrets), parts[0].shape[1]))
    kept = [places for places in (secrets, ~secrets) if places.any()]
    for places, part in zip(kept, parts, strict=True):
        rows[places] = part
    return rows


def _of_calibration(calibration: Calibration, sampler: Sampler, random: np.random.Generator) -> Audited:
    """Exact answers under the two secrets that decided the noise, with the noise of a release."""
    framework, noise = calibration.framework, calibration.noise
    game = notion_sampler(framework).game(framework, calibration)
    for side in game.sides:
        side(1, random)
    if game.approximate():
        return _of_tables_of(calibration, game, sampler)
    scores = _scores(game, noise, random)

    def drawn(noise: Noise, sampler: Sampler, secrets: Secrets, random: np.random.Generator) -> FloatArray:
        return scores(with_noise(noise, _either(secrets, game.sides, random), sampler))

    def thin(secrets: Secrets, random: np.random.Generator) -> FloatArray:
        less = cast("Any", replace(cast(Scaled, noise), scale=cast(Scaled, noise).scale / STRENGTH))
        return drawn(less, NumpySampler(random), secrets, random)

    return Audited(
        what=str(calibration.query),
        protected=game.protected,
        secrets=str(game.pair),
        draw=partial(drawn, noise, sampler),
        epsilon=calibration.guarantee.epsilon,
        delta=calibration.guarantee.delta,
        at_once=DRAWN_BY_AUDITS if isinstance(noise, Scaled) else FEW_DRAWN,
        runs=RUNS,
        thin=thin if isinstance(noise, Scaled) else None,
    )


def _scores(game: AttackGame, noise: Noise, random: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
    """What puts the log ratio of the learned distributions before a vector of several numbers."""
    if noise.dimension == 1:
        return lambda outputs: outputs
    try:
        known = cast("KnownNoise | DiscreteLaplace | ShapedNoise", learnable(noise))  # channels are for one number
    except RefusedError:
        return lambda outputs: outputs
    learned = game.sides[0](LEARNED, random), game.sides[1](LEARNED, random)
    return lambda outputs: np.column_stack([log_ratios(outputs, learned, known), outputs])


def _of_tables_of(calibration: Calibration, game: AttackGame, sampler: Sampler) -> Audited:
    """Releases of whole made-up tables, where answers to them could be made up only nearly exactly."""
    query, schema, noise = calibration.query, calibration.framework.schema, calibration.noise

    def released(table: object) -> object:
        return noise.sample([float(each) for each in evaluate(query, schema, table).values], sampler)

    pair = cast(SecretPair, game.pair)
    two = {game.protected: pair.first}, {game.protected: pair.second}
    found = _of_function(released, calibration.framework, two, game.model)
    guarantee = calibration.guarantee
    what = {"what": str(query), "protected": game.protected, "secrets": str(pair)}
    return replace(found, **what, epsilon=guarantee.epsilon, delta=guarantee.delta)


def _of_private_table(made: PrivateTable, sampler: Sampler, random: np.random.Generator) -> Audited:
    """The numbers of records of every class that are handed on: all of a table that depends on the secrets."""
    rule = made.rule
    if isinstance(rule.noise, CalibratedCount):
        calibration, records = rule.noise.calibration, rule.classes.schema.records
        game = notion_sampler(calibration.framework).game(calibration.framework, calibration)
        protected, secrets = game.protected, str(game.pair)

        def counts(secret: Secrets, random: np.random.Generator) -> Any:
            first = _either(secret, game.sides, random)[:, :1]
            return np.column_stack([first, records - first])
    else:
        two = _moved_counts(made)
        protected, secrets = and_text(rule.classes.labels), f"{rule.classes.moved:,} records in another class"

        def counts(secret: Secrets, random: np.random.Generator) -> Any:
            return np.where(secret[:, np.newaxis], *two)

    def drawn(secret: Secrets, random: np.random.Generator) -> FloatArray:
        exact = counts(secret, random).astype(np.int64).tolist()
        return np.array([rule.sizes(rule.noise.noisy(row, sampler)) for row in exact], dtype=np.float64)

    return Audited(
        what=f"a private table ({rule.form})",
        protected=protected,
        secrets=secrets,
        draw=drawn,
        epsilon=rule.guarantee.epsilon,
        delta=rule.guarantee.delta,
        at_once=FEW_DRAWN,
        runs=RUNS_OF_FUNCTION,
    )


def _moved_counts(made: PrivateTable) -> tuple[FloatArray, FloatArray]:
    """Numbers of records of all classes, as usual, and with as many as may move in another class."""
    rule = made.rule
    records, moved = rule.classes.schema.records, rule.classes.moved
    known = rule.law is not None and len(rule.law.shares) == len(rule.classes)
    shares = rule.law.shares if known and rule.law is not None else (1 / len(rule.classes),) * len(rule.classes)
    counts = np.floor(records * np.array(shares))
    a, b = np.argsort(-counts, kind="stable")[:2]
    counts[a] += records - counts.sum()
    for other in np.argsort(counts, kind="stable"):  # so many as move must be there
        taken = max(0.0, min(counts[other], moved - counts[a])) if other != a else 0.0
        counts[other], counts[a] = counts[other] - taken, counts[a] + taken
    other = counts.copy()
    other[a], other[b] = counts[a] - moved, counts[b] + moved
    return counts, other


def _of_function(
    function: Callable[[pd.DataFrame], object], framework: Framework, secrets: tuple[Assumed, Assumed], model: int
) -> Audited:
    """Any function of a table, which is given tables that are drawn given a secret, and never the secret."""
    import pandas as pd

    sampler, schema, sizes = notion_sampler(framework), framework.schema, set[int]()

    def drawn(secret: Secrets, random: np.random.Generator) -> FloatArray:
        rows: list[FloatArray] = []
        for first in secret.tolist():
            assumed = secrets[0] if first else secrets[1]
            asked = SimulationRequest(records=schema.records, secret=assumed, model=model, random=random)
            table = pd.DataFrame(dict(sampler.table(framework, asked).columns))
            rows.append(_numbers(function(table), schema))
            sizes.add(len(rows[-1]))
            if len(sizes) > 1:
                raise DataError(
                    "an audited function must return as many numbers for every table",
                    found="another number of them",
                    remedy="Pad them, or return statistics of them.",
                )
        return np.array(rows)

    names = list(dict.fromkeys([*secrets[0], *secrets[1]]))
    told = [" and ".join(_side_text(each[name]) for name in each) for each in secrets]
    return Audited(
        what=getattr(function, "__name__", type(function).__name__),
        protected=and_text(names),
        secrets=" against ".join(told),
        draw=drawn,
        epsilon=None,
        delta=0.0,
        at_once=1,
        runs=RUNS_OF_FUNCTION,
    )


def _side_text(known: Any) -> str:
    listed = (known,) if isinstance(known, (str, int, float)) else tuple(known)
    return visible(" or ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in listed))


def _numbers(found: object, schema: Schema) -> FloatArray:
    """What a function returned as numbers; of a data frame its size, sums of numbers, and counts of categories."""
    import pandas as pd

    if isinstance(found, pd.DataFrame):
        numbers = [float(len(found))]
        for name in found.columns:
            column, values = schema.columns.get(name), found[name]
            if isinstance(column, Categorical):
                numbers += [float(np.count_nonzero(values.astype(object) == each)) for each in column.outcomes]
            else:
                numbers.append(float(pd.to_numeric(values, errors="coerce").sum()))
        return np.array(numbers)
    try:
        return np.atleast_1d(np.asarray(found, dtype=np.float64)).ravel()
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            "an audited function must return a number, several, or a data frame",
            found=checks.type_text(found),
            remedy="Return for example release.values, or the coefficients of a model.",
        ) from None


def audited(
    released: object, framework: Framework | None, secrets: object, model: int, sampler: Sampler, random: Any
) -> Audited:
    """What draws outputs of something that may be audited, as `audit` says."""
    if isinstance(released, (Calibration, PrivateTable)):
        if secrets is not None:
            raise ParameterError(
                "the certificate says under which secrets a calibration or a private table is audited",
                found="secrets=",
                remedy="Leave it out, or pass a function of a table.",
            )
        made = _of_calibration if isinstance(released, Calibration) else _of_private_table
        return made(cast(Any, released), sampler, random)
    if not callable(released):
        raise ParameterError(
            "an audit needs a calibration, a private table, or a function of a table",
            found=checks.type_text(released),
            remedy="Pass for example plan(framework, query, epsilon).best, or lambda table: table['age'].mean().",
        )
    require_framework(framework)
    declared = cast(Framework, framework)
    if secrets is None:
        two = notion_sampler(declared).two_secrets(declared, random)
    else:
        listed: Any = checks.listed(secrets) or ()
        if len(listed) != 2 or not all(isinstance(each, Mapping) and len(cast(Any, each)) for each in listed):
            raise ParameterError(
                "secrets= names the two secrets that are drawn",
                found=checks.type_text(secrets),
                remedy='Write secrets=({"income": "low"}, {"income": "high"}).',
            )
        two = cast("tuple[Assumed, Assumed]", tuple(listed))
    return _of_function(released, declared, two, model)


# --------------------------------------------------------------------------------------------------
# The audit.
# --------------------------------------------------------------------------------------------------


def audit(
    released: Calibration | PrivateTable | Callable[[pd.DataFrame], object],
    framework: Framework | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    secrets: tuple[Assumed, Assumed] | None = None,
    model: int = 0,
    runs: int | None = None,
    seed: int = 0,
    confidence: float = 0.99,
    sampler: Sampler | None = None,
) -> Audit:
    """Bound epsilon from below by outputs alone: made-up tables under two secrets, and bets on which one it was.

    Nothing is believed of the code that is audited, and no data are touched. What holds is a bound from below: outputs
    that exceed the claim refute it; others prove nothing.

    Parameters
    ----------
    released : Calibration, PrivateTable or callable
        What is audited: the noise of a calibration, the numbers of records of a private table, or any function of a
        pandas table that returns a number, several, or a data frame: a session that asks several questions, a
        measurement of another library, the parameters of a model.
    framework : Framework, optional
        Needed for a function: it says how tables are drawn.
    epsilon, delta : float, optional
        The claim. By default that of the calibration or private table; of a function none, with delta 0.
    secrets : pair of mappings, optional
        For a function: the two secrets, each as `simulate` takes it; by default the first pair that is hidden. Whether
        the claim covers a pair that is given here is not checked. Others
        than what is hidden refute only who claims to hide them.
    model : int
        For a function: the index of the model in Theta.
    runs : int, optional
        Outputs that are drawn; by default 20,000 of a calibration, else 2,000.
    seed : int
        Of secrets and tables. Noise of a release has no seed.
    confidence : float
        How sure the bound is.
    sampler : Sampler, optional
        Where noise comes from; by default that of a release.

    Returns
    -------
    Audit
        Print it. Ctrl-C ends it with what was seen so far.

    Raises
    ------
    ParameterError, FrameworkError
        If an argument is none of these.
    DataError
        If a function returns no numbers, or now more and now fewer.
    BnprivError
        If tables given a secret cannot be drawn exactly, as `simulate` and `rehearse` say.

    Notes
    -----
    docs/claims/audit.md: the wealth of whoever bets at fair odds is a supermartingale, so that Ville's inequality holds
    at all times at once. Ramdas, Grunwald, Vovk, Shafer, "Game-theoretic statistics and safe anytime-valid inference"
    (Statistical Science 2023); Jagielski, Ullman, Oprea, "Auditing differentially private machine learning" (NeurIPS
    2020).

    Examples
    --------
    >>> import numpy as np
    >>> import bnpriv as bp
    >>> framework = bp.example("hospital")
    >>> noise = np.random.default_rng(1)
    >>> def careless(table):
    ...     return (table["disease"] == "yes").sum() + noise.laplace(0, 1)
    >>> found = audit(careless, framework, epsilon=0.5, runs=300)
    >>> found.verdict
    'exceeds the claim'
    """
    claim = None if epsilon is None else checks.epsilon(epsilon)
    allowed = None if delta is None else checks.delta(delta)
    sure = checks.number("confidence", confidence)
    if not 0.5 <= sure < 1:
        raise ParameterError("confidence must be at least 0.5 and below 1", found=f"{sure:g}", remedy="Pass 0.99.")
    random = np.random.default_rng([checks.whole("seed", seed, least=0), STREAM])
    chosen = SecureSampler() if sampler is None else sampler
    found = audited(released, framework, secrets, checks.whole("model", model, least=0), chosen, random)
    found = replace(
        found,
        epsilon=found.epsilon if claim is None else claim,
        delta=found.delta if allowed is None else allowed,
        runs=found.runs if runs is None else checks.whole("runs", runs),
    )
    wealth, stopped = _seen(found, sure, random)
    strength, power_of = (None, "") if found.epsilon is None else _power(found, wealth)
    return Audit(
        audited=visible(found.what),
        protected=found.protected,
        secrets=found.secrets,
        bound=wealth.trail[-1][1],
        confidence=sure,
        epsilon=found.epsilon,
        delta=found.delta,
        outputs=wealth.trail[-1][0],
        trail=tuple(wealth.trail),
        power=strength,
        power_of=power_of,
        stopped=stopped,
    )


def _grid(claim: float | None) -> FloatArray:
    """The epsilons that are bet against."""
    apart = np.geomspace(LEAST_CLAIM, MOST_CLAIM, GRID_STEPS)
    near = np.arange(1, 2 * CLAIM_STEPS + 1) / CLAIM_STEPS
    return apart if claim is None else np.unique(np.concatenate([apart, near * claim, [claim]]))


def _seen(found: Audited, confidence: float, random: np.random.Generator) -> tuple[Wealth, bool]:
    """Draw all outputs and bet on them; Ctrl-C ends it once something was seen."""
    wealth: Wealth | None = None
    block: list[tuple[FloatArray, Secrets]] = []
    try:
        with progress(f"auditing {shorten(found.what)}", total=found.runs) as step:
            for size in blocks(found.runs):
                for count in _parts(size, found.at_once):
                    secrets = random.integers(2, size=count) > 0
                    block.append((found.draw(secrets, random), secrets))
                    step(count)
                given, block = block, []  # Ctrl-C while bets are placed must not place them twice
                wealth = _bet(wealth, found, confidence, given)
    except KeyboardInterrupt:
        if block:
            wealth = _bet(wealth, found, confidence, block)
        if wealth is None or not wealth.trail:
            raise
        return wealth, True
    assert wealth is not None
    return wealth, False


def _parts(size: int, most: int) -> Iterator[int]:
    for start in range(0, size, most):
        yield min(most, size - start)


def _bet(wealth: Wealth | None, found: Audited, confidence: float, block: list[tuple[FloatArray, Secrets]]) -> Wealth:
    outputs, secrets = (np.concatenate(parts) for parts in zip(*block, strict=True))
    if wealth is None:
        grid = _grid(found.epsilon)
        wealth = Wealth(epsilons=grid, delta=found.delta, confidence=confidence, numbers=outputs.shape[1])
    wealth.see(outputs, cast(Secrets, secrets))
    return wealth


def _power(found: Audited, wealth: Wealth) -> tuple[float, str]:
    """How often so many outputs would have shown more than the claim, and of what."""
    claim = cast(float, found.epsilon)
    asked = claim, found.delta, wealth.confidence, wealth.trail[-1][0], wealth.bettors
    if found.thin is None:
        cells = best_pair(STRENGTH * claim, found.delta)
        return power(*cells, *asked), "of the pair told apart best"
    random = np.random.default_rng(0)
    half = min(max(FEWEST_MADE_UP, 4 * wealth.trail[-1][0]), MOST_MADE_UP) // 2
    secrets = np.arange(2 * half) % 2 > 0
    outputs = found.thin(secrets, random)
    # cells that are chosen and counted by the same outputs seem to tell more than they do
    values = Features.learned(outputs[:half], secrets[:half]).of(outputs)
    cells = [
        cautious(*counted(column[half:], ends, secrets[half:]))
        for column in values.T
        for ends in cell_ends(column[:half])
    ]
    return max(power(*each, *asked) for each in cells), "simulated with less noise"
