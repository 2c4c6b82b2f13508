"""A made-up table, drawn as a framework describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bnpriv import checks
from bnpriv.core.frameworks.question import Framework, require_framework
from bnpriv.errors import SecretError
from bnpriv.lab.sampling.game import Assumed, SimulationRequest, notion_sampler
from bnpriv.progress import progress

if TYPE_CHECKING:
    import pandas as pd

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
