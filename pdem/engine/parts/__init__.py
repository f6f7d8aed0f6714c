"""The parts of a system: contacts, lists, progress, tuners and box of one rank."""
