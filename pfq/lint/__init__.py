"""What pfctl accepts but the kernel will not do, and what a model asks for that no gateway can keep: `pfq lint`."""
