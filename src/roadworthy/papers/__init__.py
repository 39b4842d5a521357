"""The tables and studies that repeat the five papers, on any network and data."""
