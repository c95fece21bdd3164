#!/usr/bin/env bash
# Prints template.yaml with its functions as container images instead of zip
# files: each from the Dockerfile beside this script. Nothing else changes.
#
#   infra/container/template.sh >container.yaml
#   sam build -t container.yaml && sam deploy --guided --resolve-image-repos
set -euo pipefail
cd "$(dirname "$0")/../.."
awk '
	/^    (Runtime: provided|Handler: bootstrap)/ { next } # what an image has itself
	/^    Metadata: [&*]go/ { getline properties; getline code
		name = code; sub(/.*functions\//, "", name)
		if (code !~ /^      CodeUri: functions\//) { print "template.sh: no CodeUri after " $0 >"/dev/stderr"; exit 1 }
		print "    Metadata: {Dockerfile: infra/container/Dockerfile, DockerContext: ., DockerTag: " name ", DockerBuildArgs: {FUNCTION: " name "}}"
		print properties
		print "      PackageType: Image"
		next
	}
	{ print }
' template.yaml
