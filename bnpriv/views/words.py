"""Words for mechanisms, by what they do, and for noise: its kind, its size, and how that of several numbers is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.networks.base import Network
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Noise, unit_name
from bnpriv.core.queries.asked import number_labels
from bnpriv.core.queries.base import Query
from bnpriv.core.schema import Schema
from bnpriv.kind import kind_of
from bnpriv.mechanisms.directional import DirectionalLaplace
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.render.document import Code, Paragraph, Table, Text
from bnpriv.text import and_text, number_text

# --------------------------------------------------------------------------------------------------
# The edges of the models of a network.
# --------------------------------------------------------------------------------------------------


def edge_shares(network: Network) -> dict[tuple[str, str], str]:
    """Return the edges along the order of the attributes, with how many models have one where not all do."""
    place = {name: k for k, name in enumerate(network.attributes)}
    held: dict[tuple[str, str], list[int]] = {}
    for (above, below), models in kind_of(network).edges(network).items():
        turned = place[above] > place[below]
        held.setdefault((below, above) if turned else (above, below), [0, 0])[turned] += models
    total = network.models
    return {
        edge: ""
        if along == total
        else f"{along + against:,} of {total:,}" + (f", {against:,} turned" if against else "")
        for edge, (along, against) in held.items()
    }


# --------------------------------------------------------------------------------------------------
# Mechanisms by what they do.
# --------------------------------------------------------------------------------------------------

MECHANISMS: dict[str, str] = {
    "AttributeGaussianMechanism": "Gaussian noise for what the answer's own uncertainty does not hide",
    "ColumnMechanism": "noise that hides the queried columns whole, whatever the model",
    "DirectionalMechanism": "noise only in the directions in which the secret moves the answer",
    "DirectionalUncertaintyMechanism": "Gaussian noise in the one direction in which the secret moves the answer",
    "EigenvectorMechanism": "Gaussian noise where the answer's own variance is too little",
    "ExpectedValueMechanism": "the same noise on every number, for how far the secret moves the means",
    "GroupPrivacyMechanism": "noise that hides any change of a group of records",
    "MarkovChainMechanism": "noise that hides every single value of the sequence together with its neighbours",
    "MarkovQuiltMechanism": "noise that hides the queried columns which no shield (quilt) cuts off from the secret",
    "OptimalGaussianMechanism": "Gaussian noise in the shape that costs the least error",
    "OptimalMechanism": "a draw from a table of outputs, with the least error that there is",
    "QuantizationMechanism": "no noise: the answer is rounded to the best of a few bins",
    "RecordPrivacyMechanism": "noise that hides any change of one record",
    "TightMechanism": "as little noise as keeps the distributions of the answer alike under all secrets",
    "WassersteinMechanism": "noise as large as the secret moves the distribution of the answer",
}
"""What each of our mechanisms does, in plain words."""


def mechanism_text(mechanism: object) -> Text:
    """Return what a mechanism does, with its call behind it.

    Examples
    --------
    >>> import bnpriv as bp
    >>> print("".join(str(getattr(part, "text", part)) for part in mechanism_text(bp.ColumnMechanism())))
    Noise that hides the queried columns whole, whatever the model: ColumnMechanism()
    """
    said = MECHANISMS.get(type(mechanism).__name__, "")
    return (*((f"{said[0].upper()}{said[1:]}: ",) if said else ()), Code(str(mechanism)))


# --------------------------------------------------------------------------------------------------
# Noise in words: of which kind it is, and what its size is called.
# --------------------------------------------------------------------------------------------------

NOISE_NAMES: dict[type[Noise], str] = {
    Channel: "table of outputs",
    CorrelatedGaussian: "correlated Gaussian",
    DirectionalLaplace: "directional Laplace",
    DiscreteLaplace: "discrete Laplace",
}
"""What kinds of noise are called, where that is not the name of their class."""


def noise_name(noise: Noise) -> str:
    """Return the kind of noise, as it is said in the middle of a sentence.

    Examples
    --------
    >>> from bnpriv.noise import CorrelatedGaussian, Laplace
    >>> noise_name(Laplace(2.0)), noise_name(CorrelatedGaussian([[2.0, 1.0], [1.0, 1.0]]))
    ('Laplace', 'correlated Gaussian')
    """
    return NOISE_NAMES.get(type(noise), type(noise).__name__)


def sized_noise(noise: Noise, size: str) -> str:
    """Return the kind of noise and its size, to begin a sentence.

    Examples
    --------
    >>> from bnpriv.noise import Gaussian
    >>> sized_noise(Gaussian(2.0), "2")
    'Gaussian noise of standard deviation 2'
    """
    name = noise_name(noise)
    if isinstance(noise, Channel):
        count = len(noise.outputs)
        return f"A draw from a table of {count:,} outputs" if count > 1 else "One and the same output"
    unit = unit_name(gaussian=isinstance(noise, (Gaussian, CorrelatedGaussian)))
    return f"{name[0].upper()}{name[1:]} noise of {unit} {size}"


# --------------------------------------------------------------------------------------------------
# The noise of the parts of an answer in words: how large it is, and how that of several numbers goes together.
# --------------------------------------------------------------------------------------------------

MOST_SAID_PARTS = 3
"""Scales and errors of more parts than this are said from the least to the largest."""

MOST_NUMBERS = 8
"""Of more numbers than this no matrix is shown."""


def parts_differ(calibration: Calibration) -> bool:
    """Return whether the parts of the answer have noise of different scales."""
    shape = calibration.shape
    return shape is not None and calibration.scale > 0 and len(set(map(number_text, shape.scales))) > 1


def scales_text(calibration: Calibration, most: int = MOST_SAID_PARTS) -> str:
    """Return the scale of the noise, or those of all parts where they differ; of more than `most` the ends."""
    shape = calibration.shape
    return from_to(shape.scales if shape is not None and parts_differ(calibration) else (calibration.scale,), most=most)


def from_to(numbers: Sequence[float], texts: Sequence[str] = (), most: int = MOST_SAID_PARTS) -> str:
    """Return a few numbers, or of many the least and the largest.

    Examples
    --------
    >>> from_to([1.0, 3.0]), from_to([4.0, 1.0, 2.0, 3.0])
    ('1 and 3', '1 to 4')
    """
    texts = texts or [number_text(number) for number in numbers]
    if len(texts) <= most:
        return and_text(texts)
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    return f"{texts[order[0]]} to {texts[order[-1]]}"


def together(noise: Noise, query: Query, schema: Schema) -> Iterable[Table | Paragraph]:
    """Yield how the noise of the numbers goes together, where it is not independent."""
    if not isinstance(noise, (CorrelatedGaussian, DirectionalLaplace)):
        return
    labels = number_labels(query, schema)
    if len(labels) > MOST_NUMBERS:
        yield Paragraph(
            "The noise of the numbers goes together: calibration.noise.covariance holds its covariance, shape "
            f"({len(labels)}, {len(labels)})."
        )
        return
    rows = np.asarray(noise.covariance)
    spreads = np.sqrt(np.diag(rows))
    yield Table(
        caption="How the noise of the numbers goes together: its standard deviations and correlations (-1 to 1)",
        header=("number", "deviation", *(str(place + 1) for place in range(len(labels)))),
        rows=[
            (
                (f"{place + 1}: ", Code(label)),
                number_text(float(spreads[place])),
                *(_correlation(rows[place, other], spreads[place] * spreads[other]) for other in range(len(labels))),
            )
            for place, label in enumerate(labels)
        ],
        numbers=tuple(range(1, len(labels) + 2)),
    )


def _correlation(entry: float, size: float) -> str:
    return "-" if size == 0 else f"{entry / size:.3f}".replace("-0.000", "0.000")
