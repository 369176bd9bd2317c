"""Every limit, named with its unit. Limits bound the cost of any input; input beyond one gives a typed error or a finding."""

from __future__ import annotations

NESTING_DEPTH_MAX = 64
"""Levels of lists and objects in one message. Low enough that Python's recursion limit is never reached."""

WHOLE_NUMBER_BITS_MAX = 14_000
"""Bits of a whole number in a message. Python writes at most 4,300 digits."""

MESSAGE_SIZE_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of one message, as a line of a session file of another tool."""

COUNT_CACHE_TEXTS_MAX = 16_384
"""Texts whose count is cached."""

COUNT_CACHE_TEXT_CHARS_MIN = 256
"""Length from which counts are cached. Shorter texts are cheaper to count than to look up."""

TOOL_ARGUMENT_DEPTH_MAX = 32
"""Levels of a JSON value in which text is cut. Deeper values are left out whole."""

LEDGER_SCAN_CHARS_MAX = 4_000
"""Characters of one tool result that the rules read: its head and its tail."""

LEDGER_JSON_CHARS_MAX = 65_536
"""Characters of a JSON result up to which the rules parse all of it; of a longer one they read LEDGER_SCAN_CHARS_MAX."""

SETTING_TOKENS_MAX = 10**12
"""Largest value of an option in tokens. A larger one is a mistake, and float arithmetic on it would not be exact."""

COUNT_SLICE_CHARS = 1 << 20
"""Longest text a tokenizer is given at once. Longer texts are counted in slices of about this length."""

COUNT_ALONE_CHARS = 8_192
"""Texts up to here are counted by the engine for one text, which keeps the interpreter to itself for a few milliseconds at most."""

COUNT_TABLE_WORK_MAX = 1_000_000
"""Characters, with a surcharge for new words and text that is not ASCII, that a process counts before it loads the tokenizer.
They take 60 to 80 ms, half of what loading takes."""

COUNT_TABLE_SLICE_CHARS = 65_536
"""Characters that are counted at once before the tokenizer is loaded: other threads wait for some milliseconds."""

COUNT_PIECE_BYTES_MAX = 256
"""Longest run without a word boundary that is counted before the tokenizer is loaded."""

COUNT_ENGINE_CHARS_MAX = 1 << 26
"""Characters counted before the tokenizer's own cache of words is emptied, so that it cannot grow on hostile words."""

TRANSCRIPT_SIZE_BYTES_MAX = 2 * 1024 * 1024 * 1024
"""Bytes of one session file of another tool, after decompression."""

TRANSCRIPT_LINES_MAX = 500_000
"""Lines of one such file. Each line takes some hundred bytes of memory, however short it is."""

ARCHIVE_RATIO_MAX = 1_000
"""Ratio of unpacked to packed size allowed above ARCHIVE_SIZE_BYTES_FREE. Sessions unpack to 5 to 50 times their size."""

ARCHIVE_SIZE_BYTES_FREE = 1 << 20
"""Unpacked bytes allowed at any ratio: a short text that is repeated packs very well."""

RECORD_SIZE_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of one encoded record in a session's log."""

RECORD_NESTING_MAX = 96
"""Levels of lists and objects in one record: NESTING_DEPTH_MAX, and the levels a record adds to a message."""

RECORD_NODES_MAX = 4_000_000
"""Values in one record. Bounds objects with shared parts, whose encoded size can be exponential."""

BLOB_SIZE_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of one blob."""

BLOB_REFERENCE_CHARS_MIN = 12
"""Shortest prefix of a blob's SHA-256, in hexadecimal digits, that is accepted as a reference."""

JSON_VALUES_MAX = 1_000_000
"""Values (fields and list items) in one message. A small object with shared parts can be this large when copied."""

COUNTED_TEXT_CHARS_MAX = 1_000_000
"""Longest removed text whose tokens are counted for a notice. Those of a longer one are estimated from samples."""

BREAK_SEARCH_CHARS_MAX = 400
"""Characters a cut may give up in order to end at a sentence, a line or a word."""

BROKEN_WORD_CHARS_MAX = 16
"""Shorter words are shown whole or not at all where a line is cut; of longer ones a part is shown."""

GRAPHEME_CHARS_MAX = 64
"""Code points of one grapheme that a cut keeps together. No script has longer ones."""

TRANSCRIPT_COMPACTIONS_MAX = 1_000
"""Compactions in one session file of another tool. Replaying one costs up to the messages it keeps."""

FOREIGN_COMPACTIONS_MAX = 100
"""Newest compactions of another tool that an imported session can roll back to. Older ones stay in the file."""

REGISTRY_FILE_SIZE_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of a user's model registry file."""

REGISTRY_WARNINGS_MAX = 1_000
"""Unknown model names for which one process gives a warning."""

RECALL_PIECE_CHARS_MAX = 1 << 18
"""Characters of one indexed piece. A longer text is indexed as several pieces."""

RECALL_SEGMENT_CHARS_MAX = 1 << 24
"""Characters of history in one segment of the search index, rounded up to a whole piece."""

RECALL_SEGMENT_TERMS_MAX = 250_000
"""Distinct terms in one segment, rounded up to a whole piece. Bounds the memory that random words take."""

RECALL_SEGMENTS_MAX = 4
"""Segments of the search index in memory, about 17 million tokens. Older history is read by position, not searched."""

RECALL_QUERY_CHARS_MAX = 8_000
"""Characters of a query that are read."""

RECALL_QUERY_TERMS_MAX = 64
"""Terms of a query that are searched for: the rarest."""

RECALL_QUERY_WORK_MAX = 20_000
"""Occurrences of a query's terms that are scored in one segment. The most frequent terms are skipped beyond it."""

RECALL_ASKED_CHARS_MAX = 300
"""Characters of a call's arguments that are indexed with its result."""

RECALL_OPEN_CALLS_MAX = 1_000
"""Calls without a result that the search index keeps, to index them with their results."""

RECALL_KEPT_CHARS_MIN = 1 << 13
"""Characters by which a history has to grow before its search index is written again; or a tenth of it, if that is more."""

RECALL_REINDEXED_MESSAGES_MAX = 500
"""Messages of a session whose index, if an edit made it stale, is made again on closing; in a longer one by the next search."""

RECALL_TEXTS_CHARS_MAX = 1 << 23
"""Characters of messages that a search holds in memory, of those that its index was opened with."""

RECALL_OUTPUT_TOKENS_MAX = 2_000
"""Tokens of one result of the tools `recall` and `read`."""

SUMMARIZER_INPUT_TOKENS_MIN = 2_000
"""Smallest input of a summariser. Less holds little more than the instructions."""

SUMMARIZER_OUTPUT_TOKENS_MAX = 8_192
"""The longest answer a summariser is asked for: what most models write in one reply, however much room there is."""

LEDGER_WORDS_CHARS_MAX = 24_000
"""Characters of earlier summaries' prose that a ledger carries with its facts; longer prose keeps its two ends."""

LEDGER_CLOSE_MESSAGES_MAX = 600
"""Messages of one compaction that the rules read in full. A session's compactions have fewer; one call on a history of a
million tokens may have more, and the messages in the middle are then only scanned."""

PROJECT_FILE_SIZE_BYTES_MAX = 1 << 18
"""Bytes of a project's manifest, or of a repository's HEAD or config. A larger file is ignored."""

PROJECT_TEXT_CHARS_MAX = 300
"""Characters of one name, version, branch or address recorded of a project."""

SESSION_TITLE_CHARS_MAX = 200
"""Characters of a session's title."""

TIME_MS_MAX = 253_402_300_799_999
"""Latest time of a message: the end of the year 9999 in Unix milliseconds."""

DEPENDENCIES_MAX = 200
"""Dependencies recorded of a project."""

ACTIVITY_MESSAGES_MAX = 200
"""Newest messages searched for topics and recent calls."""

ACTIVITY_CALLS_MAX = 20
"""Recent calls listed."""

ACTIVITY_TOPICS_MAX = 5
"""Newest requests listed."""

ACTIVITY_TOPIC_CHARS_MAX = 80
"""Characters shown of a request."""

ACTIVITY_TEXT_CHARS_MAX = 20_000
"""Characters of one message searched for values that one tool returned and another was called with."""

MESSAGE_CACHE_ENTRIES_MAX = 512
"""Messages read back from the log that a session caches."""

MESSAGE_CACHE_CHARS_MAX = 1 << 16
"""Characters of such a message. Together with their number, bounds the memory of the cache."""

LARGE_MESSAGE_CACHE_ENTRIES_MAX = 2
"""Larger messages that a session caches: one that is read page by page, and the one before it."""

MESSAGE_CACHE_TTL_S = 600.0
"""Seconds for which messages are cached."""

CUT_TEXTS_MAX = 1_024
"""Cut texts that are cached."""

MENTIONED_FILES_MAX = 10_000
"""Distinct files found in one conversation."""

READ_FILE_SIZE_BYTES_MAX = 1 << 18
"""Bytes of a project file that are read for a summary."""

MCP_TEXT_ARGUMENT_CHARS_MAX = 4_000
"""Characters of one text argument of a tool of the MCP server."""

MCP_ANSWER_CHARS_MAX = 16_000
"""Characters of one answer of the MCP server, about 4,000 tokens of English."""

MCP_PAGE_CHARS_MAX = 12_000
"""Characters of a text that its tool `read` answers with at most, so that a page is never cut again."""

MCP_SESSIONS_SEARCHED_MAX = 5
"""Sessions in which the MCP server looks for something when the call names none: the running one and those before it."""

MCP_SESSIONS_LISTED_MAX = 10
"""Sessions that the MCP server lists."""

MCP_SESSION_WAIT_S = 5.0
"""Seconds for which the MCP server waits for a session that another process writes."""

MCP_TOKEN_CHARS_MIN = 16
"""Characters of the token of the MCP server over HTTP."""

MEMORIES_MAX = 5_000
"""Memories of one scope. Of more, superseded ones and then the least important are deleted."""

MEMORY_TEXT_CHARS_MAX = 300
"""Characters of a memory: one sentence."""

MEMORY_OFFER_S = 0.5
"""Seconds for which a new session waits for memories to show. After them it is opened without."""

MEMORY_ANSWER_S = 5.0
"""Seconds for which a compaction waits for a store of memories. After them it goes on, and reports it."""

REREAD_LINES_MAX = 400
"""Lines between the first and the last change of a result of a repeated call, above which no difference is made."""
