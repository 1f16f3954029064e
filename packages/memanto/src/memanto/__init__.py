"""Typed, versioned memory for agents on Qdrant."""

__version__ = "0.1.0+qdrant"
