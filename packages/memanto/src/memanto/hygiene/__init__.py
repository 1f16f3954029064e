"""Upkeep: conflicts without loss, the daily summary, forgetting policies, and the schedule that runs them."""
