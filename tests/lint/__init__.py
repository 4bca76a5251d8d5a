"""Tests of pfq.lint."""
