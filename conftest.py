"""What pytest leaves out where an optional library is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pymc") else ["bnpriv/adapters/pymc/read.py"]
