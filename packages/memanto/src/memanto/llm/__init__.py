"""Language models: a port, and one client for every endpoint that speaks the OpenAI protocol. All optional."""
