// Package emulator holds what the emulators of AWS services in its folders
// share: dynamodb (a table store), sqs (a queue) and lambda (the event source
// mapping that feeds a queue's messages to a function).
//
// They keep to the operations and expressions that Toolhost's drivers use and
// refuse everything else by name, enforce AWS's limits and report consumed
// capacity. Faults can be injected into every call, their clock can be moved,
// and their state can be kept in a directory. They are for laptops and tests:
// they check no signatures and listen on 127.0.0.1 only.
package emulator
