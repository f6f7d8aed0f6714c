"""The parts of contact laws that case files name, one file each: forces, resistances, adhesion."""
