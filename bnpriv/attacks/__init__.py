"""The best guess that somebody can make who sees a noisy answer, exactly and by simulation."""
