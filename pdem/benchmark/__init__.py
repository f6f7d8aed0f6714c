"""Speed on this machine: fixed cases, the limits of the machine, results of earlier versions."""
