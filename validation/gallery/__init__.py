"""The gallery of `pdem verify`: impacts, rolling and bulk processes beside theory, experiments and other codes."""
