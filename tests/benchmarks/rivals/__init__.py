"""Stores to compare with, each a script that runs in an environment of its own and answers on its streams."""
