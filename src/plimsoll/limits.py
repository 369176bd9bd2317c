"""Every limit in the system, named with its unit. A limit is a promise about cost: passing it gives a typed error or a finding."""

from __future__ import annotations

NESTING_DEPTH_MAX = 64
"""Levels of lists and objects in one message. Deeper input is refused before Python's own recursion limit is near."""

MESSAGE_SIZE_BYTES_MAX = 256 * 1024 * 1024
"""Characters of text in one message that are read at all."""

COUNT_CACHE_TEXTS_MAX = 16_384
"""Texts whose count is remembered by content."""

COUNT_CACHE_TEXT_CHARS_MIN = 256
"""Shorter texts are cheaper to count than to look up."""

TOOL_ARGUMENT_DEPTH_MAX = 32
"""Levels of a tool call's arguments that are searched for text to cut."""

LEDGER_SCAN_CHARS_MAX = 4_000
"""Characters of one tool result that the rules look at: its head and its tail."""

SETTING_TOKENS_MAX = 10**12
"""Largest number an option may hold. Beyond it is a mistake, and float arithmetic stops being exact."""

COUNT_SLICE_CHARS = 1 << 20
"""Characters that a tokenizer is given at once. Longer texts are counted in slices of about this length."""

COUNT_ALONE_CHARS = 8_192
"""Texts up to here are counted by the engine for one text, which keeps the interpreter to itself for a few milliseconds at most."""

COUNT_ENGINE_CHARS_MAX = 1 << 26
"""Characters counted before the tokenizer's own cache of words is emptied, so that it cannot grow on hostile words."""

TRANSCRIPT_SIZE_BYTES_MAX = 2 * 1024 * 1024 * 1024
"""Bytes of one session file of another tool, after decompression, that are read at all."""

TRANSCRIPT_LINES_MAX = 500_000
"""Lines of one such file. Sessions have far fewer; each line costs some hundred bytes of memory, however short it is."""

ARCHIVE_RATIO_MAX = 1_000
"""Times its own size that an archive may unpack to, besides ARCHIVE_SIZE_BYTES_FREE. Sessions unpack to 5 to 50 times theirs."""

ARCHIVE_SIZE_BYTES_FREE = 1 << 20
"""Bytes that any archive may unpack to: a short text repeated packs very well."""

RECORD_SIZE_BYTES_MAX = 256 * 1024 * 1024
"""Bytes of one encoded record in a session's log."""

RECORD_NESTING_MAX = 96
"""Levels of lists and objects in one record: a message at its own limit, and what a record wraps around it."""

RECORD_NODES_MAX = 4_000_000
"""Values in one record's payload. Bounds payloads that share parts of themselves, whose written form would be exponential."""

BLOB_SIZE_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of one blob."""

BLOB_REFERENCE_CHARS_MIN = 12
"""Hexadecimal digits of a blob's SHA-256 that are enough to ask for it by."""

JSON_VALUES_MAX = 1_000_000
"""Values (fields and list items) in one message. Shared references can make a small object this large when copied."""

COUNTED_TEXT_CHARS_MAX = 1_000_000
"""Longest text whose tokens are counted one by one only to say how many there were; beyond it a sample speaks."""

BREAK_SEARCH_CHARS_MAX = 400
"""Characters that a cut may give up to end at a sentence, a line or a word."""

GRAPHEME_CHARS_MAX = 64
"""Code points of one visible character that a cut keeps together. Longer piles of marks are not writing."""

TRANSCRIPT_COMPACTIONS_MAX = 1_000
"""Compactions in one session file of another tool. Replaying one costs up to what it keeps."""

FOREIGN_COMPACTIONS_MAX = 100
"""Newest compactions of another tool that an imported session can be taken back to. Older ones are in the file it keeps."""

REGISTRY_FILE_SIZE_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of a user's file of models."""

REGISTRY_WARNINGS_MAX = 1_000
"""Unknown model names that are warned about in one process."""

RECALL_PIECE_CHARS_MAX = 1 << 18
"""Characters of one text that the search index takes in at once; a longer text is several pieces to it."""

RECALL_SHELF_CHARS_MAX = 1 << 24
"""Characters of history on one shelf of the search index, give or take a piece."""

RECALL_SHELF_TERMS_MAX = 250_000
"""Different terms on one shelf, give or take those of a piece. Bounds what random words cost."""

RECALL_SHELVES_MAX = 4
"""Shelves of the search index in memory, some 17 million tokens. Older history is then read by position, not searched."""

RECALL_QUERY_CHARS_MAX = 8_000
"""Characters of a query that are looked at."""

RECALL_QUERY_TERMS_MAX = 64
"""Terms of a query that are searched: its rarest."""

RECALL_QUERY_WORK_MAX = 20_000
"""Occurrences of a query's terms that are weighed on one shelf; its commonest terms are left out for it."""

RECALL_ASKED_CHARS_MAX = 300
"""Characters of a call's arguments by which its result is also found."""

RECALL_OPEN_CALLS_MAX = 1_000
"""Calls whose results may still come, as far as the search index remembers them."""

RECALL_OUTPUT_TOKENS_MAX = 2_000
"""Tokens of one answer of the tools `recall` and `read`."""

SUMMARIZER_INPUT_TOKENS_MIN = 2_000
"""Less than this holds hardly more than the words that ask for a summary."""

LEDGER_WORDS_CHARS_MAX = 24_000
"""Words of earlier summaries that a ledger carries beside its facts; of more, the two ends."""

LEDGER_CLOSE_MESSAGES_MAX = 600
"""Messages of one run that the rules read closely. A session's compactions bring fewer at a time; one call on a history of a
million tokens may bring more, and then the middle is only skimmed."""

PROJECT_FILE_SIZE_BYTES_MAX = 1 << 18
"""Bytes of a project's manifest, or of a repository's HEAD or config. A larger one is passed over."""

PROJECT_TEXT_CHARS_MAX = 300
"""Characters of one name, version, branch or address that are kept of a project."""

SESSION_TITLE_CHARS_MAX = 200
"""Characters of a session's title that are kept."""

TIME_MS_MAX = 253_402_300_799_999
"""Latest time of a message: the end of the year 9999 in Unix milliseconds."""

DEPENDENCIES_MAX = 200
"""Dependencies of a project that are kept."""

ACTIVITY_MESSAGES_MAX = 200
"""Newest messages that topics and recent calls are gathered from."""

ACTIVITY_CALLS_MAX = 20
"""Recent calls that are listed."""

ACTIVITY_TOPICS_MAX = 5
"""Newest requests that are listed."""

ACTIVITY_TOPIC_CHARS_MAX = 80
"""Characters of a request that are shown."""

ACTIVITY_TEXT_CHARS_MAX = 20_000
"""Characters of one message that are searched for what one tool found and another was called with."""

MESSAGE_CACHE_ENTRIES_MAX = 512
"""Messages read back from the log that a session holds on to."""

MESSAGE_CACHE_CHARS_MAX = 1 << 16
"""Characters of such a message. With their number, it bounds the memory they take."""

LARGE_MESSAGE_CACHE_ENTRIES_MAX = 2
"""Larger messages that a session holds on to: one that is being read page by page, and the one before it."""

MESSAGE_CACHE_TTL_S = 600.0
"""Seconds it holds on to them."""

CUT_TEXTS_MAX = 1_024
"""Cut texts that are remembered by what they were cut from."""

MENTIONED_FILES_MAX = 10_000
"""Different files that are told apart in one conversation."""

READ_FILE_SIZE_BYTES_MAX = 1 << 18
"""Bytes of one of a project's files that are read for a summary."""
