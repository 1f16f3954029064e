"""The loop on top of memory: answers, handoffs, failures, briefs, checks and runs."""
