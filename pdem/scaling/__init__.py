"""How runs scale: measured over ranks and threads, and reported, also beside a plan; batch scripts."""
