// Package tools is what this deployment hosts: a file for each tool, and
// Registry, which lists them.
//
// To add a tool, copy the file of one that is like it, change the types and the
// handler, and add its register function to the list in tools.go. A tool's name,
// description and argument types are all that a client needs; the JSON Schemas
// come from the types. Larger work belongs into a package of its own below this
// folder, which knows nothing of MCP, as csvprofile and httpcheck do.
//
// A handler has the official SDK's signature, so one that was written for
// mcp.AddTool moves here unchanged. What it says with tool.Options, with tool.Step,
// tool.Ask and tool.Report, is described in pkg/tool.
//
//	csv_profile       may run either way; small files are answered at once
//	batch_http_check  may run either way; steps, progress, cancel
//	deploy_approval   always a task; waits for a person while nothing runs
package tools
