"""Storage: the engine port, the embedded engine and the server engine. Only this package knows Qdrant."""
