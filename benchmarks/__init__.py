"""Speed, measured beside a naive version or a peer in the same run. Run all with ``make bench``."""
