"""Connecting coding tools to an agent's memory: their settings files, and the hooks they run."""
