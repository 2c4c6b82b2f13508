"""The census income study of Chen and Ohrimenko, regenerated: ``python -m benchmarks.adult``.

Prints the page and writes it to docs/adult.md. The files are read from the folder that BNPRIV_ADULT names, or from
../shared/data/adult beside the project.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence

import numpy as np

import bnpriv as bp
from benchmarks import adult_attacks as attacks, adult_published as published
from benchmarks.adult_study import (
    DELTA,
    EPSILONS,
    HERE,
    NO_DATA,
    PROPERTIES,
    PUBLISHED,
    RECORDS,
    ROOT,
    Key,
    M,
    answers,
    available,
    calibrated,
    census,
    covariance,
    group_error,
    independent_error,
    laws,
    likelier_along,
    likelier_of,
    mean_norm,
    released,
    sensitivity,
    spent,
    with_steps,
)
from benchmarks.lecture import table
from bnpriv.bound import FloatArray
from bnpriv.lab.attacks.result import accuracy_bound
from bnpriv.mechanisms.gaussian.laws import covariance_departure

PAGE = ROOT / "docs" / "adult.md"
DRAWS, SEED = 200_000, 20230425
BEST = ("DauM (G), analytic", "Optimal, analytic")


def drawn_error(noise: FloatArray) -> float:
    """Return the mean 2-norm of drawn noise."""
    drawn = np.random.default_rng(SEED).standard_normal((DRAWS, len(noise))) @ attacks.root(noise)
    return float(np.linalg.norm(drawn, axis=1).mean())


def number(value: float) -> str:
    """Return a number with three or four digits."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}" if value >= 0.001 else "0"


def against(ours: float, paper: float) -> list[str]:
    """Return the paper's number, ours, and how far apart they are."""
    return [number(paper), number(ours), f"{100 * (ours / paper - 1):+.1f} %"]


def ours_alone(name: str, errors: Sequence[float]) -> list[str]:
    """Return a row of a table without numbers of the paper."""
    return [name, *(cell for error in errors for cell in ("", number(error), ""))]


def table_2() -> str:
    """Return Table 2, and the mechanisms that are not in the paper."""
    rows: list[list[str]] = []
    for name, errors in published.TABLE_2.items():
        cells = [name]
        for epsilon, paper in errors.items():
            if name == "GroupDP (G)":
                found = independent_error(RECORDS * sensitivity(), epsilon)
            else:
                found = drawn_error(covariance(PUBLISHED[name], epsilon))
            cells += against(found, paper)
        rows.append(cells)
    for name, mechanism in HERE.items():
        rows.append(ours_alone(name, [drawn_error(covariance(mechanism, epsilon)) for epsilon in EPSILONS]))
    rows.append(ours_alone("GroupDP (G), analytic", list(map(group_error, EPSILONS))))
    head = [text for epsilon in EPSILONS for text in (f"paper, {epsilon:g}", f"here, {epsilon:g}", "off by")]
    return table(["mechanism", *head], rows)


def guarantees() -> str:
    """Return what holds for normal laws with one covariance, and with their own."""
    first, second = laws("income")
    rows: list[list[str]] = []
    for name, mechanism in {**PUBLISHED, **HERE}.items():
        if name.endswith("(L)"):
            continue
        cells = [name]
        for epsilon in EPSILONS:
            added = covariance(mechanism, epsilon)
            one = spent(first.mean - second.mean, first.covariance + added, epsilon)
            cells += [f"{one:.6f}", f"{attacks.excess(laws('income', common=False), added, epsilon):.6f}"]
        rows.append(cells)
    head = [text for epsilon in EPSILONS for text in (f"one, {epsilon:g}", f"own, {epsilon:g}")]
    return table(["mechanism", *head], rows)


def relaxed() -> str:
    """Return what is refused and what is offered for two covariances, at epsilon 1."""
    framework = bp.DistributionPrivacy([laws("income", common=False)], source="1994 census")
    lines: list[str] = []
    relaxed_ones = [M.AttributeGaussianMechanism(relaxation=level) for level in (0.05, 0.1, 0.2)]
    for mechanism in (M.OptimalGaussianMechanism(), *relaxed_ones, M.WassersteinMechanism()):
        if mechanism.supports(framework, epsilon=1.0, delta=DELTA) is None:
            found = mechanism.calibrate(framework, epsilon=1.0, delta=DELTA)
            told = found.guarantee
            said = f"error {found.expected_error:.4g}, epsilon {told.epsilon:g}, delta {told.delta:.3g}"
        else:
            said = "refused, since it needs one covariance"
        lines.append(f"* `{mechanism}`: {said}")
    return "\n".join(lines)


def published_error(name: str, epsilon: float, about: str, gap: float) -> float:
    """Return the mean 2-norm error of a published mechanism."""
    if name == "DP (G)":
        return independent_error(sensitivity(), epsilon)
    if name == "DirM (L)":  # one Laplace number along the gap, for its 1-norm
        first, second = laws(about, gap)
        return float(np.linalg.norm(first.mean - second.mean, ord=1)) / epsilon
    return calibrated(PUBLISHED[name], epsilon, about=about, gap=gap).expected_error


def figure(about: str, curves: Mapping[str, Sequence[float]], places: Sequence[tuple[float, float]]) -> str:
    """Return published errors beside ours at places (epsilon, gap), and those of the least noise."""
    rows: list[list[str]] = []
    for name, curve in curves.items():
        here = [published_error(name, epsilon, about, gap) for epsilon, gap in places]
        rows.append([name, *(f"{number(p)} / {number(h)}" for p, h in zip(curve, here, strict=True))])
    here_too = {"DirM (L)": M.DirectionalMechanism(), **{name: HERE[name] for name in BEST}}
    for name, mechanism in here_too.items():
        found = [calibrated(mechanism, epsilon, about=about, gap=gap).expected_error for epsilon, gap in places]
        rows.append([f"here: {name}", *map(number, found)])
    varied = 0 if len({epsilon for epsilon, _ in places}) > 1 else 1
    return table(["paper / here", *(f"{place[varied]:.3g}" for place in places)], rows)


def figure_2(about: str, gap: float) -> str:
    """Return a part of Figure 2: errors by epsilon."""
    return figure(about, published.FIGURE_2[about], [(epsilon, gap) for epsilon in published.FIGURE_2_EPSILONS])


def figure_3(about: str) -> str:
    """Return a part of Figure 3: errors by gap, at epsilon 1."""
    return figure(about, published.FIGURE_3[about], [(1.0, gap) for gap in published.FIGURE_3_GAPS])


def compared_accuracies(curves: Mapping[str, Mapping[Key, float]]) -> dict[str, dict[Key, float]]:
    """Return the accuracy of the published attack for every (epsilon, delta) of every published mechanism."""
    asked = {(name, *key): published_covariance(name, *key) for name, curve in curves.items() for key in curve}
    found = attacks.as_published(answers(), asked)
    return {name: {key: found[name, *key] for key in curve} for name, curve in curves.items()}


def published_covariance(name: str, epsilon: float, delta: float) -> FloatArray:
    """Return the covariance of the noise of a published mechanism."""
    if name == "no defence":
        return np.zeros((5, 5))
    if name == "GroupDP (G)":
        scale = math.sqrt(2 * math.log(1.25 / delta)) * RECORDS * sensitivity() / epsilon
        return scale**2 * np.eye(5)
    return covariance(PUBLISHED[name], epsilon, delta)


def table_3() -> str:
    """Return Table 3: accuracies by epsilon and delta."""
    found = compared_accuracies(published.TABLE_3)
    rows = [
        [f"{name}, {epsilon:g}"]
        + [f"{published.TABLE_3[name][epsilon, d]:.3f} / {found[name][epsilon, d]:.3f}" for d in (1e-4, 1e-3, 1e-2)]
        for name in published.TABLE_3
        for epsilon in EPSILONS
    ]
    return table(["mechanism, epsilon; paper / here", "delta 0.0001", "0.001", "0.01"], rows)


def figure_4() -> str:
    """Return Figure 4: accuracies by epsilon."""
    keys = [(epsilon, DELTA) for epsilon in published.FIGURE_4_EPSILONS]
    curves = {name: dict(zip(keys, curve, strict=True)) for name, curve in published.FIGURE_4.items()}
    found = compared_accuracies(curves)
    rows = [[name, *(f"{curves[name][key]:.3f} / {found[name][key]:.3f}" for key in keys)] for name in curves]
    return table(["paper / here", *(f"{epsilon:.3g}" for epsilon in published.FIGURE_4_EPSILONS)], rows)


def attacked() -> str:
    """Return errors and accuracies at epsilon 1, delta 0.001."""
    normal, own = laws("income"), laws("income", common=False)
    noises = {name: covariance(each, 1.0) for name, each in {**PUBLISHED, **HERE}.items() if "(L)" not in name}
    noises["Optimal, analytic, and steps"] = released(M.OptimalGaussianMechanism(), 1.0).noise.covariance
    right = attacks.as_published(answers(), {"no defence": np.zeros((5, 5)), **noises})
    informed = f"{attacks.likelier(answers(), own):.3f}"
    rows = [["no defence", "0", "0", informed, informed, f"{right['no defence']:.3f}"]]
    for name, noise in noises.items():
        narrow = float(np.linalg.eigvalsh(noise)[-2]) < min(attacks.STEPS)
        whole = f"{attacks.whole_steps(answers(), own, noise)[0]:.3f}" if narrow else ""
        shrunk = number(attacks.shrunk_error(answers(), own, noise))
        known = f"{likelier_of(normal, noise):.3f}"
        rows.append([name, number(mean_norm(noise)), shrunk, known, whole, f"{right[name]:.3f}"])
    rows.append(
        [
            "DirM (L)",
            number(calibrated(M.DirectionalMechanism(), 1.0).expected_error),
            "",
            f"{likelier_along():.3f}",
            "",
            "",
        ]
    )
    without = number(attacks.without_data(answers()))
    rows.append(["the mean of both distributions, whatever the table", without, without, "0.500", "0.500", "0.500"])
    return table(["mechanism", "error", "error, shrunk", "normal distributions", "whole numbers", "as published"], rows)


def whole_steps_at(epsilon: float) -> tuple[float, float]:
    """Return what the attacker achieves who knows of whole numbers, under DauM with the analytic constant."""
    noise = covariance(HERE["DauM (G), analytic"], epsilon)
    return attacks.whole_steps(answers(), laws("income", common=False), noise)


def least_errors() -> str:
    """Return the error of the least noise that holds the best attacker's accuracy down, on normal laws."""
    from scipy.special import ndtri

    both = laws("income")
    gap, rows = both[0].mean - both[1].mean, list[list[str]]()
    for accuracy in (0.52, 0.54, 0.55, 0.56, 0.58, 0.60):
        values, vectors = np.linalg.eigh(np.outer(gap, gap) / (2 * ndtri(accuracy)) ** 2 - both[0].covariance)
        noise = with_steps(vectors * np.maximum(values, 0.0) @ vectors.T)
        shrunk = attacks.shrunk_error(answers(), laws("income", common=False), noise)
        rows.append([f"{accuracy:g}", number(mean_norm(noise)), number(shrunk)])
    return table(["accuracy", "error", "error, shrunk"], rows)


def gaps() -> str:
    """Return means and variances of the laws."""
    rows: list[list[str]] = []
    for about in PROPERTIES:
        for share, law in zip(attacks.SHARES, laws(about, common=False), strict=True):
            pairs = zip(law.mean, np.diag(law.covariance), strict=True)
            rows.append([f"{about} {share:g}", *(f"{mean:.2f}, {variance:.3g}" for mean, variance in pairs)])
    for name, place in (("mean age", 1), ("number female", 4)):
        for share, (mean, variance) in zip(attacks.SHARES, published.FIGURE_5[name], strict=True):
            cells = [""] * 5
            cells[place - 1] = f"{mean:.2f}, {variance:.3g}"
            rows.append([f"paper, income {share:g}", *cells])
    return table(["mean, variance", "age", "years", "never married", "female", "hours"], rows)


def page() -> str:
    """Return the page in Markdown."""
    apart = {about: covariance_departure(*laws(about, common=False)) for about in PROPERTIES}
    return f"""# The census income study

This page is written by `python -m benchmarks.adult`. It regenerates the experiments of Chen and Ohrimenko, "Protecting
Global Properties of Datasets with Distribution Privacy Mechanisms" (AISTATS 2023), with exact gaps and covariances in
place of 1,000 drawn tables, and adds what bnpriv has.

## The data

The census income data ("Adult") of the UCI Machine Learning Repository,
[archive.ics.uci.edu/dataset/2/adult](https://archive.ics.uci.edu/dataset/2/adult), are not part of bnpriv. Put
`adult.data` and `adult.test` in a folder and let the environment variable `BNPRIV_ADULT` name it; without them, what
needs them is skipped. {len(census()):,} records are complete.

A table of {RECORDS} records is drawn; its mean age, mean years of education, number never married, number female and
mean hours a week are published. Nobody may learn whether 45 % or 55 % of its records have a high income (or work in
the private sector). The distributions of the answer, from `laws_by_property`; the paper's are those of its Figure 5:

{gaps()}

## Table 2: errors for income, delta {DELTA:g}

Mean 2-norm error of {DRAWS:,} draws of noise. The paper has 50 draws, so its numbers are off by several percent, most
where one number is drawn. Below them what is not in the paper; the constants are explained in
[laplace-and-gaussian.md](laplace-and-gaussian.md). Error 0: the answer's own uncertainty is enough.

{table_2()}

## What these rows guarantee

All rows rest on three assumptions: the answer is normal, both distributions have the mean of the two covariances, and
the table is drawn as said; every guarantee has the kind "estimate". The two covariances in fact differ: by
{apart["income"]:.2g} of themselves for income and {apart["work class"]:.2g} for work class (the Frobenius norm of the
difference of the correlations over their least eigenvalue). Least delta at each epsilon, where {DELTA:g} was asked:
*one*, for the one covariance, exact; *own*, for normal distributions with their own covariances, from 100,000 draws.

{guarantees()}

Noise in one direction suffers most, since it leaves the others as they are. Asked for distributions with their own
covariances, at epsilon 1, bnpriv says:

{relaxed()}

## Figure 2: errors by epsilon

Income, 0.45 against 0.55; the points of the paper's curves beside ours.

{figure_2("income", 0.1)}

Work class, 0.48 against 0.52.

{figure_2("work class", 0.04)}

The paper has 0.02 where no noise is needed, since it looks for the noise by halving. Its curve of DirM (L) is that of
the 1-norm of the gap; along one direction the 2-norm is enough, as in the row "here". EigM (G) adds no noise here where
the answer's own uncertainty is enough, the paper does.

## Figure 3: errors by the gap between the shares, epsilon 1

Income:

{figure_3("income")}

Work class:

{figure_3("work class")}

DP (G) hides single records, not the share.

## Table 3 and Figure 4: the published attack

Logistic regression learns from {2 * attacks.SHADOW} answers *without noise* and guesses from answers with noise; mean
of {attacks.REPETITIONS} attackers, the noise averaged over exactly.

{table_3()}

{figure_4()}

## Better attacks, epsilon 1, delta {DELTA:g}

How often the right one of two equally likely shares is named. The guarantee allows {accuracy_bound(1.0, DELTA):.3f}.

* *error, shrunk*: the released answer drawn towards what the public table says anyway, the best linear guess; this is
  work after the release and costs no privacy.
* *normal distributions*: the best attacker there is, if the answer has a normal distribution with the one covariance.
  *no defence*: on exact answers, drawn.
* *whole numbers*: an attacker who knows that counts are whole and means hundredths of whole numbers, for noise in one
  direction: along it hardly any other answer is possible. From {2 * attacks.INFORMED:,} answers.
* *as published*: as above.

{attacked()}

**Noise in one direction hides normal answers, not whole numbers.** Whoever knows that counts are whole finds the
exact answer on the line: under DauM (G), analytic, in {100 * whole_steps_at(1.0)[1]:.0f} % of the releases. At
epsilon 0.2, where {accuracy_bound(0.2, DELTA):.3f} is allowed, this attacker is right in
{whole_steps_at(0.2)[0]:.3f}: the distribution of the answer is not normal, and with that goes the guarantee. Laplace
noise in one direction, DirM (L), fares no better. The remedy costs nearly nothing: independent noise of a step on
every part (a count 1, a mean 0.01) leaves 5e-9 of the steps to be seen. bnpriv adds it where a query says that the
answer is to be released ([claim](claims/steps.md)), as in the row "and steps"; the other rows are for the
distributions alone. That the distribution is normal apart from its steps stays an assumption.

Before it is shrunk no answer with Gaussian noise does better than the last row: what the public table says of such
tables anyway is nearer to the truth. The least errors with Gaussian noise, steps hidden, at which the best attacker is
right so often:

{least_errors()}

DauM (G), with the error {calibrated(PUBLISHED["DauM (G)"], 1.0).expected_error:.2f}, lets the best attacker of normal
answers be right in {likelier_of(laws("income"), covariance(PUBLISHED["DauM (G)"], 1.0)):.3f}. An accuracy of 0.55 at
half of that error is out of reach for Gaussian noise alone, and within reach for a shrunk answer.
"""


def main() -> int:
    """Print the page and write it."""
    if not available():
        print(f"skipped: {NO_DATA}")
        return 0
    text = page()
    print(text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
