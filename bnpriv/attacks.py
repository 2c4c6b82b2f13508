"""What an attacker can find out who sees a noisy answer: exactly where laws are known, by shadow tables else."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.lab.attacks.likelihood_ratio import likelihood_ratio_attack
    from bnpriv.lab.attacks.result import Attack, accuracy_bound, plot_attacks
    from bnpriv.lab.attacks.shadow import property_inference, shadow_attack

__all__ = ["Attack", "accuracy_bound", "likelihood_ratio_attack", "plot_attacks", "property_inference", "shadow_attack"]

__getattr__, __dir__ = lazily(__name__)
