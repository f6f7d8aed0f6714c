"""The gallery of `pdem verify`: impacts, rolling, and processes in bulk beside theory, experiments and other codes."""
