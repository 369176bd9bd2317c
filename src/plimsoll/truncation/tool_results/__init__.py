"""Tool results: rendered as text, and shrunk by their shape so that the most useful lines stay."""

from plimsoll.truncation.tool_results.render import render_result
from plimsoll.truncation.tool_results.shapes import Kind
from plimsoll.truncation.tool_results.shrink import ShrunkResult, shrink_result

__all__ = ["Kind", "ShrunkResult", "render_result", "shrink_result"]
