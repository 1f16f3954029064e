"""The verbs of memory: writing, reading, changing, ranking and trust, over the engine port."""
