#!/usr/bin/env bash
# The template: valid, linted, built, and transformed as CloudFormation would,
# to see that every streaming integration is one (streaming.py). No account and
# no network are needed.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh python
export PATH="$PWD/.toolhost/ci/python/bin:$PATH"
export SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-west-1 AWS_ACCESS_KEY_ID=none AWS_SECRET_ACCESS_KEY=none

cfn-lint template.yaml
sam validate --lint
# The same with container images; building those takes Docker.
infra/container/template.sh >.toolhost/ci/container.yaml
cfn-lint .toolhost/ci/container.yaml
sam validate --lint --template-file .toolhost/ci/container.yaml
make build
python infra/check/streaming.py .aws-sam/build/template.yaml
for function in Authorizer Mcp Tasks Worker DeadLetter; do
	go version -m ".aws-sam/build/${function}Function/bootstrap" | grep 'GOARCH=arm64' >/dev/null
	go version -m ".aws-sam/build/${function}Function/bootstrap" | grep 'lambda.norpc' >/dev/null
done
