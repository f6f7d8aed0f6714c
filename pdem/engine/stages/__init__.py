"""The stages of a run: the present stage, and the changes at the begin of the next one."""
