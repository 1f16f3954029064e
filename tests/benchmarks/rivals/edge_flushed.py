"""`edge`, flushed after every write: the engine's own price of surviving a power cut."""

import protocol
from edge import Flushed

if __name__ == "__main__":
    protocol.serve(Flushed)
