"""Why contacts have ended, counted in the series and listed for scripts."""
