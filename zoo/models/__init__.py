"""Models: a front end, a stack and a head each."""
