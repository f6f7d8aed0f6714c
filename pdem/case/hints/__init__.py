"""What messages say beside the fact: usual causes, the form that is wanted, words of other programs, units."""
