package dynamodb

import (
	_ "embed"
	"strings"
)

// reservedText is DynamoDB's published list of the words that an expression may
// use for an attribute only through a placeholder.
//
//go:embed reserved.txt
var reservedText string

var reserved = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(reservedText) {
		words[w] = true
	}
	return words
}()

func isReserved(name string) bool { return reserved[strings.ToUpper(name)] }
