"""What the fuzzer points at: one module per engine dialect, and the embedded simulator."""
