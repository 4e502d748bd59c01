"""Models: each has a front end, a stack and a head."""
