"""From a history and a budget to a view, and the plan that says how: pure, synchronous, no model and no disk inside."""
