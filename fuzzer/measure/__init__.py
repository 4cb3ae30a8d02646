"""What does a drafter give and take below the cap: memory, speed, sameness? PURE."""
