"""Measuring what ways of compacting keep of a conversation: probes, the ways, scores and sheets for blind reading.

Nothing here reads the ledger of facts or the summaries' rules: what is measured cannot write its own test.
"""
