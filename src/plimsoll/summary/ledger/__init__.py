"""Rule-based extraction of facts from messages: one module per kind of fact, and the immutable Ledger that holds them."""

from plimsoll.summary.ledger.fact import CAPS, KINDS, Fact, Kind, Origin
from plimsoll.summary.ledger.ledger import Ledger, Reading, extend
from plimsoll.summary.ledger.wire import Counts

__all__ = ["CAPS", "KINDS", "Counts", "Fact", "Kind", "Ledger", "Origin", "Reading", "extend"]
