"""What every other room stands on: errors, the field table, random numbers, kernels, exact sums."""
