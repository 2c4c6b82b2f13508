"""Reports of networks whose tables are too large: they come out in time, with bounds that say so (row 45)."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.views.report.analysis as analysis_module


def dense(nodes: int, parents: int, seed: int = 1) -> bp.DiscreteNetwork:
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in range(nodes)]
    above = {
        names[k]: [names[j] for j in sorted(rng.choice(k, size=min(k, parents), replace=False))]
        for k in range(1, nodes)
    }
    tables = {
        name: np.moveaxis(rng.dirichlet([5.0, 5.0], size=(2,) * len(above.get(name, ()))), -1, 0) for name in names
    }
    return bp.DiscreteNetwork.from_tables(tables, states=dict.fromkeys(names, ("a", "b")), parents=above)


def test_row_45_a_report_with_tables_too_large_comes_out() -> None:
    network = dense(70, 6)
    started = time.process_time()
    report = bp.influence_report(network, protect="v0")
    text, page = report.text, report.to_html()
    assert time.process_time() - started < 20
    assert "a bound; too large: " in text
    assert "million cells" in page
    assert "may tell most" in text.splitlines()[0]
    bounded = [influence for influence in report.attributes[0].columns if influence.too_large]
    assert bounded
    assert all(influence.kind == "certified" and np.isfinite(float(influence)) for influence in bounded)


def test_row_45_bounds_of_a_report_are_never_below_the_influences(monkeypatch: pytest.MonkeyPatch) -> None:
    network = dense(12, 3)
    exact = {str(*row.columns): float(row) for row in bp.influence_report(network, protect="v0").attributes[0].columns}
    monkeypatch.setattr(analysis_module, "MOST_ELIMINATION_CELLS", 0)
    monkeypatch.setattr(analysis_module, "LEAST_WORK", 64)
    rows = bp.influence_report(network, protect="v0").attributes[0].columns
    assert any(row.too_large for row in rows)
    for row in rows:
        (name,) = row.columns
        assert float(row) >= exact[name] - 1e-12
        assert row.too_large or float(row) == pytest.approx(exact[name], abs=1e-12)


def test_row_45_a_query_of_many_columns_is_explained() -> None:
    rng = np.random.default_rng(2)
    names = [f"c{k:02d}" for k in range(40)]
    tables = {"s": [0.5, 0.5]} | {name: rng.dirichlet([5.0, 5.0], size=2).T for name in names}
    network = bp.DiscreteNetwork.from_tables(
        tables, states=dict.fromkeys(tables, ("a", "b")), parents={name: ["s"] for name in names}
    )
    schema = bp.Schema(records=100, columns={name: bp.Real(0, 1) for name in names})
    framework = bp.DistributionalAttributePrivacy(network, schema, "s", source="a random draw")
    text = bp.influence_report(framework, bp.linear(dict.fromkeys(names, 1.0)), 1.0).text
    influence = bp.max_influence(network, names, "s")
    (times,) = re.findall(r"if it is [ab]: ([\d.,e+]+) times as likely", text)
    assert float(times.replace(",", "")) == pytest.approx(np.exp(float(influence)), rel=0.01)
    assert "Row: P(c39 = " in text
