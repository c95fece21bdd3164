"""Clients in Python, with nothing in between: `mcp`, the official one, in its
newest revision and in its legacy one, and FastMCP's, whose package
`fastmcp-tasks` drives the Tasks extension on top of it.

    python client.py URL

Case 47; case 39 where it is named. One line is printed for each promise.
"""

import asyncio
import sys

import mcp
from fastmcp import Client as FastClient
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from fastmcp_tasks import call_tool_task
from fastmcp_tasks.client_models import CancelTaskRequest, GetTaskRequest, UpdateTaskRequest

URL = sys.argv[1]
MODERN = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
PATIENCE = 60  # seconds for each promise

# fastmcp-tasks 4.1.4 does not say which parameter the header Mcp-Name mirrors,
# so tasks/* would go without it, which a server has to refuse (R-H1).
for request in (GetTaskRequest, UpdateTaskRequest, CancelTaskRequest):
    request.name_param = "taskId"


def text(result) -> str:
    return "".join(block.text for block in result.content)


def fast(answers=None):
    """A client that answers every question out of `answers`, or declines."""

    async def answer(message, response_type, params, context):
        (name,) = params.requested_schema["properties"]
        if name in (answers or {}):
            return ElicitResult(action="accept", content={name: answers[name]})
        return ElicitResult(action="decline")

    return FastClient(URL, elicitation_handler=answer, mode=MODERN)


async def lists():
    """R-N1, R-N10: what discover and tools/list say is what the client accepts."""
    async with mcp.Client(URL) as client:
        assert client.protocol_version == MODERN
        assert client.server_capabilities.extensions[TASKS] == {}
        assert "slow_compute" in [tool.name for tool in (await client.list_tools()).tools]


async def sync():
    """R-N7, R-H8: a call that needs no task, and arguments that do not fit."""
    async with mcp.Client(URL, mode=MODERN) as client:
        assert text(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada!"
        wrong = await client.call_tool("greet", {"name": 7})
        assert wrong.is_error and "name" in text(wrong)


async def undeclared():
    """Case 39; R-N3, R-N4: without the extension, whole results or the error."""
    async with mcp.Client(URL, mode=MODERN) as client:
        result = await client.call_tool("slow_compute", {"seconds": 1, "label": "plain"})
        assert text(result) == 'Computed "plain" for 1 seconds.'
        for name in ("failing_job", "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task"):
            try:
                await client.call_tool(name, {})
            except mcp.MCPError as error:
                assert error.code == -32021, name
                assert error.data["requiredCapabilities"]["extensions"] == {TASKS: {}}
            else:
                raise AssertionError(f"{name} was called")


async def task():
    """R-C1, R-G1, R-G3: the handle at once, then the result."""
    async with fast() as client:
        handle = await call_tool_task(client, "slow_compute", {"seconds": 2, "label": "sum"})
        assert (await handle.status()).status == "working"
        assert text(await handle) == 'Computed "sum" for 2 seconds.'


async def questions():
    """R-G2, R-U1, R-U9: two at once, and one that is declined."""
    async with fast({"name": "Ada", "confirm": True}) as client:
        assert text(await client.call_tool("multi_input", {})) == "Ada, confirmed: true."
    async with fast() as client:
        assert text(await client.call_tool("confirm_delete", {"filename": "a.txt"})) == "a.txt was kept."


async def tool_error():
    """R-G3: a tool's own error is a result."""
    async with fast() as client:
        handle = await call_tool_task(client, "failing_job", raise_on_error=False)
        assert (await handle.wait()).status == "completed"
        assert (await handle).is_error


async def failure():
    """R-G4: a panic is a failed task, with a JSON-RPC error."""
    async with fast() as client:
        handle = await call_tool_task(client, "protocol_error_job")
        final = await handle.wait()
        assert final.status == "failed" and final.error["code"] == -32603
        try:
            await handle
        except ToolError:
            return
        raise AssertionError("a failed task gave a result")


async def composition():
    """R-C4: a question before the task, then the task."""
    async with fast({"name": "Ada"}) as client:
        assert text(await client.call_tool("test_tool_with_task", {})) == "Hello, Ada!"


async def cancel():
    """R-X1, R-X3: while it runs, and while it waits for an answer."""
    async with fast() as client:
        running = await call_tool_task(client, "slow_compute", {"seconds": 300})
        await running.cancel()
        assert (await running.wait()).status == "cancelled"
        waiting = await call_tool_task(client, "confirm_delete", {"filename": "b.txt"})
        await waiting.wait(state="input_required")
        await waiting.cancel()
        assert (await waiting.status()).status == "cancelled"


async def legacy():
    """R-B1, R-B2, R-B5: initialize, and no task, whatever the client can do."""
    async with mcp.Client(URL, mode="legacy") as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_capabilities.extensions is None
        await client.session.send_ping()
        assert "greet" in [tool.name for tool in (await client.list_tools()).tools]
        assert text(await client.call_tool("greet", {"name": "Ada"})) == "Hello, Ada!"
    async with FastClient(URL, mode="legacy") as client:
        result = await client.call_tool("slow_compute", {"seconds": 1, "label": "old"})
        assert text(result) == 'Computed "old" for 1 seconds.'


async def main():
    for prove in (lists, sync, undeclared, task, questions, tool_error, failure, composition, cancel, legacy):
        await asyncio.wait_for(prove(), PATIENCE)
        print("ok", prove.__name__.replace("_", "-"), flush=True)


asyncio.run(main())
