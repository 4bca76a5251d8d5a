"""Distribution kernels as virtual machines, for what needs a kernel with every queueing discipline."""
