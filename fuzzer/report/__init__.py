"""How is a run shown? Pure renderers from its rows: no I/O, no clock."""
