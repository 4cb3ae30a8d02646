"""How does somebody follow a run while it goes on? Live on a terminal, one plain line a probe anywhere else."""
