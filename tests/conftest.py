"""Which tests are quick: some of every room, for the loop while working, ``pytest -m quick``."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
QUICK = frozenset(
    {
        "contract/test_arguments.py",
        "contract/test_contract_rows.py",
        "contract/test_toy_kind.py",
        "golden/test_chain.py",
        "golden/test_tight.py",
        "golden/test_transport.py",
        "meta/test_names.py",
        "meta/test_public_names.py",
        "meta/test_quick.py",
        "unit/app/test_state.py",
        "unit/core/accounting/test_entries.py",
        "unit/io/test_framework_file.py",
        "unit/io/test_framework_fit.py",
        "unit/io/test_framework_slips.py",
        "unit/io/test_pgmpy.py",
        "unit/lab/attacks/test_shadow.py",
        "unit/core/test_curves.py",
        "unit/core/test_gaussian_constants.py",
        "unit/loss/test_views.py",
        "unit/core/evidence/test_record_pair.py",
        "unit/core/evidence/test_single_numbers.py",
        "unit/core/evidence/test_structural.py",
        "unit/core/frameworks/test_frameworks.py",
        "unit/core/frameworks/test_level.py",
        "unit/core/influence/test_influence.py",
        "unit/kinds/junction/test_junction_states.py",
        "unit/core/influence/test_largest_ratio.py",
        "unit/core/test_laws.py",
        "unit/mechanisms/test_baselines.py",
        "unit/views/test_noise_words.py",
        "unit/mechanisms/test_quantization_bins.py",
        "unit/core/mechanisms/test_shape.py",
        "unit/core/networks/test_base.py",
        "unit/core/networks/test_discrete_network.py",
        "unit/core/networks/test_factors.py",
        "unit/core/networks/test_graph.py",
        "unit/kinds/test_model_class.py",
        "unit/mechanisms/optimal/test_channel.py",
        "unit/core/test_weights.py",
        "unit/tables/test_data_check.py",
        "unit/core/queries/test_asked.py",
        "unit/core/queries/test_constructors.py",
        "unit/core/queries/test_crossed.py",
        "unit/core/test_changed.py",
        "unit/tables/test_many.py",
        "unit/core/test_release.py",
        "unit/tables/test_withheld.py",
        "unit/views/test_cards.py",
        "unit/render/test_document.py",
        "unit/test_progress.py",
        "unit/views/report/test_escaping.py",
        "unit/ledger/test_split.py",
        "unit/io/starter/test_starter.py",
        "unit/lab/test_leaks_kinds.py",
        "unit/views/report/test_remedies.py",
        "unit/core/test_bins.py",
        "unit/tables/test_installed.py",
        "unit/tables/test_public.py",
        "unit/core/test_schema.py",
        "unit/tables/test_separators.py",
        "unit/test_checks.py",
        "unit/verify/test_verify_noise.py",
    }
)
"""The files, by their paths from here."""

OTHERS = ("unhurried", "slow", "long", "mutants", "benchmark", "site")

LAST = "test_the_quick_run_takes_at_most_a_minute"
"""Looks at the time that has passed, and so runs after all others."""


def pytest_configure(config: pytest.Config) -> None:
    """Import ArviZ before there are workers: two that import it at once, the first time on a day, fail.

    Both write the date of a warning to one temporary file and move it, and the second has nothing left to move.

    Hear Ctrl-C, which tests press, also where a shell began the tests in the background and switched it off.
    """
    workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if workers and find_spec("arviz") is not None:
        import_module("arviz")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave other files out at once when nothing but the quick ones is asked for."""
    if config.option.markexpr != "quick" or collection_path.suffix != ".py":
        return None
    return None if is_quick(collection_path) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is quick in a quick file, and leave the look at the clock to the end."""
    for item in items:
        if is_quick(item.path) and not any(item.get_closest_marker(name) for name in OTHERS):
            item.add_marker(pytest.mark.quick)
    items.sort(key=lambda item: item.name == LAST)


@pytest.fixture
def few_objects() -> Iterator[None]:
    """Collect what a test makes, and not all that others left, where garbage is collected hundreds of times."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def is_quick(path: Path) -> bool:
    """Whether a file belongs to the quick run."""
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix() in QUICK
