"""What an attacker can find out who sees a noisy answer: exactly where laws are known, by shadow tables else."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.lab.attacks.likelihood_ratio import likelihood_ratio_attack as likelihood_ratio_attack
    from bnpriv.lab.attacks.result import (
        Attack as Attack,
        accuracy_bound as accuracy_bound,
        plot_attacks as plot_attacks,
    )
    from bnpriv.lab.attacks.shadow import property_inference as property_inference, shadow_attack as shadow_attack


__getattr__, __dir__ = lazily(__name__)
