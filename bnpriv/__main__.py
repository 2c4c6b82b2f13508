"""What ``python -m bnpriv`` runs: the shell."""

from bnpriv.cli import main

if __name__ == "__main__":
    main()
