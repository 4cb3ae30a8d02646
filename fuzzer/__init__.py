"""ctxfuzz: finds the prompt length at which a live LLM endpoint stops surviving."""

__version__ = "0.1.0"
