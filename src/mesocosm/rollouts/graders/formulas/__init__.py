"""Read and compare mathematical answers. Needs sympy, and runs in a process of its own."""
