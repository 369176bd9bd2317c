"""Budgets, load lines and policies: pure values and arithmetic."""
