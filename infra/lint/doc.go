// Package lint holds the rules of this repository that the compiler does not
// know, as tests: who may import whom (pkg/README.md), the size and form of
// files, and that template.yaml agrees with the code. An exception stands in its
// test's table, with a reason.
package lint
