"""``runledger crashtest``: kill somebody's own program at each boundary that the ledger sees, and tell what came of it.

The program runs in a scratch copy of its directory. A ``sitecustomize`` on its PYTHONPATH has every Python process of
it watch its own calls to the store (``inject``); nothing in the engine knows of this.
"""
