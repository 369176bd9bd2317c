"""Session files of other tools: Claude Code, Codex and pi, found, read and written."""

from plimsoll.transcripts.detect import detect_file, load_file
from plimsoll.transcripts.discover import Found, discover
from plimsoll.transcripts.export import write
from plimsoll.transcripts.values import (
    Compaction,
    Conversation,
    Entry,
    Exported,
    Finding,
    Loss,
    Meta,
    Outgoing,
    Said,
    Sidechain,
    ToolName,
    Transcript,
    Viewed,
)

__all__ = [
    "Compaction",
    "Conversation",
    "Entry",
    "Exported",
    "Finding",
    "Found",
    "Loss",
    "Meta",
    "Outgoing",
    "Said",
    "Sidechain",
    "ToolName",
    "Transcript",
    "Viewed",
    "detect_file",
    "discover",
    "load_file",
    "write",
]
