"""`faiss_sqlite`, synced at every commit."""

import protocol
from faiss_sqlite import Full

if __name__ == "__main__":
    protocol.serve(Full)
