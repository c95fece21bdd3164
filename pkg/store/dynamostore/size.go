package dynamostore

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// maxItem is the largest item that DynamoDB takes.
const maxItem = 400 << 10

// size is the item's size as DynamoDB bills it, give or take a byte a number.
func (it item) size() int {
	total := 0
	for name, v := range it {
		total += len(name) + sizeOf(v)
	}
	return total
}

func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2 // two digits a byte, and the exponent
	case *types.AttributeValueMemberM:
		total := 3
		for name, e := range v.Value {
			total += 1 + len(name) + sizeOf(e)
		}
		return total
	case *types.AttributeValueMemberL:
		total := 3
		for _, e := range v.Value {
			total += 1 + sizeOf(e)
		}
		return total
	}
	return 1 // a boolean
}
