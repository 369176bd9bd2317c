"""`plimsoll serve`: the proxy."""

from __future__ import annotations

import argparse
import os
import sys

from plimsoll.cli.options import add_store, count, flag, option, token_in, tokens
from plimsoll.cli.output import WrongUsage, print_json

TOKEN = "PLIMSOLL_PROXY_TOKEN"  # noqa: S105 - the name of a variable

ABOUT = "Clients use the address that is printed as their base URL. Keys go through, and are never stored."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    option(parser, "--upstream URL", "the provider, such as https://api.openai.com", required=True)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8790, help="the port; 0 takes a free one (default: 8790)")
    option(
        parser,
        "--token T",
        f"what clients must send as X-Plimsoll-Token (default: ${TOKEN}; needed unless on loopback)",
    )
    option(
        parser, "--token-file FILE", "the file with that token in its first line, so that no list of processes shows it"
    )
    option(
        parser,
        "--allow-host NAME",
        "another name of the proxy, with its port, as clients call it",
        action="append",
        default=[],
    )
    option(
        parser,
        "--max-tokens N",
        "the budget of messages and tools (default: the model's window less the reply)",
        type=tokens,
    )
    option(parser, "--model M", "count for this model (default: the one each request names)")
    option(
        parser, "--policy P", "how to compact: a policy's name (default: only what does not fit, to half of the budget)"
    )
    flag(parser, "--no-redact", "record secrets in messages too")
    flag(
        parser,
        "--recall-tools",
        "offer the model tools to search what left a compacted conversation; clients do not see their calls",
    )
    option(parser, "--max-requests N", "requests at a time (default: 2000)", type=count, default=2_000)
    option(parser, "--timeout S", "seconds the upstream may be silent (default: 600)", type=count, default=600)
    add_store(parser)


def run(arguments: argparse.Namespace) -> None:
    """Serve until interrupted."""
    from plimsoll.proxy.options import checked_options

    if arguments.token is not None and arguments.token_file is not None:
        raise WrongUsage("--token and --token-file name one thing each: give one of them")
    given = token_in(arguments.token_file) if arguments.token_file is not None else arguments.token
    options = checked_options(
        arguments.upstream,
        host=arguments.host,
        port=arguments.port,
        token=os.environ.get(TOKEN) if given is None else given,
        allow_hosts=arguments.allow_host,
        requests_max=arguments.max_requests,
        idle_timeout_s=float(arguments.timeout),
    )
    from plimsoll.proxy.run import serve

    def listening(url: str) -> None:
        if arguments.json:
            print_json({"listening": url, "upstream": options.upstream})
        else:
            print(f"listening on {url}, sending to {options.upstream}. Stop it with Ctrl-C.")
            print(f"base URL of clients: {url}/v1 for OpenAI's SDKs, {url} for Anthropic's (ANTHROPIC_BASE_URL)")
            print(f"what is done: {url}/plimsoll/status")
        sys.stdout.flush()

    serve(
        options,
        listening=listening,
        store=arguments.store,
        model=arguments.model,
        max_tokens=arguments.max_tokens,
        policy=arguments.policy,
        redact=not arguments.no_redact,
        recall_tools=arguments.recall_tools,
    )
