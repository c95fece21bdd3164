package bench

import (
	"fmt"
	"strings"
)

// List prices in dollars, of one. They are from third-party pages; check them
// against AWS's own for your region.
const (
	priceHTTP       = 3.50e-6 // API Gateway, REST API
	priceInvocation = 0.20e-6 // Lambda, without its time
	priceWrite      = 0.625e-6
	priceRead       = 0.125e-6
	priceSQS        = 0.40e-6
)

// Where the bill stands in README.md.
const (
	costsBegin = "<!-- costs: made by go test ./infra/bench -update -->\n"
	costsEnd   = "<!-- end of costs -->\n"
)

// costs is the bill for a million of each life.
func costs(stories []*story) string {
	var out strings.Builder
	out.WriteString("| a million of | requests | invocations | read units | write units | SQS requests | API Gateway | Lambda requests | DynamoDB | SQS | in all |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, s := range stories {
		u := s.total
		queue := u.sum(send, hide, receive, remove)
		gateway, lambda := priceHTTP*float64(u.calls[httpRequest]), priceInvocation*float64(u.calls[invocation])
		db, sqs := priceRead*u.readUnits+priceWrite*u.writeUnits, priceSQS*float64(queue)
		fmt.Fprintf(&out, "| %s | %d | %d | %v | %v | %d", lives[i].name, u.calls[httpRequest], u.calls[invocation], u.readUnits, u.writeUnits, queue)
		for _, dollars := range []float64{gateway, lambda, db, sqs, gateway + lambda + db + sqs} {
			fmt.Fprintf(&out, " | $%.2f", dollars*1e6)
		}
		out.WriteString(" |\n")
	}
	return out.String()
}
