"""The way in: a PyMC model becomes the most exact network that it allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.gaussian import GaussianNetwork


def from_pymc(
    model: Any,
    *,
    columns: Mapping[str, str] | Iterable[str] | str | None = None,
    posterior: Any = None,
    thin: int = 1,
    fix: Iterable[str] | None = None,
    reading: Literal["belief", "models"] = "models",
    independent: bool = False,
    log_weights: str | None = None,
) -> DiscreteNetwork | GaussianNetwork | DensityNetwork:
    """Read a PyMC model of the columns' parameters, with or without the columns under them.

    Parameters
    ----------
    model : pymc.Model
        Read only; what pymc_extras summed out of it is read with its law. Its random variables are the parameters,
        named as in the model; vectors are split by their dims and coordinates, as in ``theta[Choate]``. Deterministics
        and Data are passed through. The coord ``income_states`` names the states of a variable ``income`` with
        finitely many values, which are whole numbers without it.
    columns : mapping from str to str, or iterable of str, optional
        For columns of the table the random variable that holds their records, or one entry of it; or the parameter
        that governs the column, if others depend on it. By default the observed variables at the end of the graph.
        Data that were observed of a column are not used: they are what is to be protected.
    posterior : InferenceData, DataTree or Dataset, optional
        Draws given *public* data. Leave out what is to stay a parameter, as in ``idata.posterior[["mu", "tau"]]``. A
        release from a table that is among its ``observed_data`` is refused; ``idata.posterior`` alone does not hold
        these.
    thin : int
        Take every so many draws of each chain.
    fix : iterable of str, optional
        With "models" the variables to fix to their draws, as ``["mu", "tau"]``; by default all that have draws, but
        for a protected one and those between it and the queried columns.
    reading : {"belief", "models"}
        "belief": the posterior is the observer's law, and any parameter or Deterministic that has draws can be
        protected, entries of vectors too. "models": every draw of the other parameters is a model of Theta; the noise
        is enough under each. Where what has no draws is linear-Gaussian, or what `fix` leaves is discrete, the models
        are exact; where the model has no columns, discrete variables stay. If no parameter stays and the records of
        the observed variables are alike, these make a network of level "records". A framework that protects a fixed
        parameter takes the model in which it has its law.
        Otherwise at most 25 draws are models, evenly spaced, and fewer where tables are large, unless `thin` is given.
    independent : bool
        Declares that the draws are independent draws of the posterior itself, as those of a conjugate one are. Those of
        ``pm.sample`` are not.
    log_weights : str, optional
        With "belief" the variable of the posterior that holds, for draws of a wider law, the log of the posterior's
        density over that law's, up to one constant: every draw then counts by its weight.

    Returns
    -------
    DiscreteNetwork, GaussianNetwork or DensityNetwork
        Exact if all parameters have finitely many values, or all are normal around affine functions of their parents;
        else by densities and draws. Columns without parameters make a network of level "records" if their records are
        alike, with finitely many values; else a model that draws whole tables. ``network.reading`` says for every
        variable what became of it and why.

    Raises
    ------
    MissingExtraError
        If PyMC is not installed.
    NetworkError
        If the model has a Potential, a cycle or a variable without a name, observed data lie among the parameters,
        columns or draws do not fit, or a law is not well formed.
    SizeError
        If a table would be too large.

    Notes
    -----
    docs/claims/pymc.md, belief.md. A node stands for the parameter of the column of its name unless `columns` says
    otherwise; a model of one record is ``from_pymc(model).of_level("records")``. Over a model with columns a property
    of the drawn table may be secret (`bnpriv.DatasetAttributePrivacy`), or which of two models it comes from
    (`bnpriv.DistributionPrivacy`).

    Examples
    --------
    >>> import pymc as pm
    >>> with pm.Model() as model:
    ...     income = pm.Bernoulli("income", 0.4)
    ...     sat = pm.Bernoulli("sat", 0.2 + 0.6 * income)
    >>> from_pymc(model)
    DiscreteNetwork(attributes=2, edges=1, models=1, level='parameters')
    """
    from bnpriv.adapters.pymc.assemble import AskedDraws, network_of

    asked = AskedDraws(
        posterior=posterior, thin=thin, fix=fix, reading=reading, independent=independent, log_weights=log_weights
    )
    return network_of(model, columns, asked)
