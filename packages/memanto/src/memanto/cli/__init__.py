"""The command line `memanto`. One module per group of commands; `main` runs them."""
