"""`edge`, with its graph index (HNSW) built by `optimize` after the import."""

import protocol
from edge import Graph

if __name__ == "__main__":
    protocol.serve(Graph)
