# Everything is `make` and a word. Only Go is needed for run and test.
.DEFAULT_GOAL := help
.PHONY: help run fixtures test check bench build deploy clean

# What a function is built with: no RPC mode, no debug tables, no C library.
FUNCTION = CGO_ENABLED=0 GOFLAGS='-tags=lambda.norpc "-ldflags=-s -w"'
# sam of the checks, if it is installed there.
SAM = PATH="$(CURDIR)/.toolhost/ci/python/bin:$$PATH" SAM_CLI_TELEMETRY=0 sam

help: ## This list
	@echo 'make WORD, where WORD is one of'
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

run: ## The whole stack on this machine, at http://127.0.0.1:8080/mcp (PORT=… for another)
	@test -x bin/toolhost || echo "Building; the first time takes a minute or two…"
	@go build -o bin/toolhost ./infra/toolhost
	@exec bin/toolhost dev

fixtures: ## The tools that the official conformance suite calls, served the same way
	@go build -o bin/fixtures ./infra/conformance
	@exec bin/fixtures serve

test: ## All tests, with Go alone
	go test ./...

check: ## All that CI checks: race detector, linters, template, other emulators, conformance
	@infra/check/check.sh

bench: ## Benchmarks
	go test -run '^$$' -bench . -benchmem ./...

build: ## The functions, as AWS SAM builds them for Lambda
	$(FUNCTION) $(SAM) build

deploy: build ## Build and deploy with AWS SAM; asks before it changes anything
	$(SAM) deploy

clean: ## Remove what was built and installed here, but no data of yours
	rm -rf .aws-sam bin .toolhost/ci
