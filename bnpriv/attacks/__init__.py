"""What an attacker can find out who sees a noisy answer: exactly where laws are known, by shadow tables else."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.attacks.likelihood_ratio import likelihood_ratio_attack
    from bnpriv.attacks.result import Attack, accuracy_bound, plot_attacks
    from bnpriv.attacks.shadow import shadow_attack

__all__ = ["Attack", "accuracy_bound", "likelihood_ratio_attack", "plot_attacks", "shadow_attack"]

__getattr__, __dir__ = lazily(__name__)
