"""Pictures, films and plots of runs."""
