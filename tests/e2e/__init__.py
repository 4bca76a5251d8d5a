"""Tests that need a kernel."""
