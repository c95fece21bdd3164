#!/usr/bin/env bash
# The drivers' suites against emulators that others wrote.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh node
NODE="$PWD/.toolhost/ci/node/node_modules/.bin/node" infra/emulator/drivertest/independent.sh .toolhost/ci/independent
