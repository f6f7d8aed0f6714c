"""How runs scale: measured over ranks and threads, reported, and planned for machines that are not here."""
