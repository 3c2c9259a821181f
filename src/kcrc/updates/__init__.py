"""Examples that come and go, and what would be if they did."""
