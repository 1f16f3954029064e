"""memanto with `durability="full"`: flushed before each receipt."""

import protocol
from memanto_log import Full

if __name__ == "__main__":
    protocol.serve(Full)
