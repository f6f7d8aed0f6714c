"""How runs scale: measured over ranks and threads, reported, and planned for larger machines."""
