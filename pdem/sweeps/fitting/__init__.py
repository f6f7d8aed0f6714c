"""What runs at some places tell of a response everywhere, where it meets targets, and where to run next."""
