"""What is asked before the first probe? Who else is there, what kind of engine it is, and how it counts."""
