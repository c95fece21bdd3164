package dynamodb

// DynamoDB's limits, in bytes where nothing else is said.
const (
	maxItemSize       = 400 << 10
	maxHashKeySize    = 2048
	maxRangeKeySize   = 1024
	maxAttributeName  = 65535
	maxKeyName        = 255
	maxNesting        = 32 // lists and maps within each other
	maxDigits         = 38 // significant, of a number
	maxMagnitude      = 125
	minMagnitude      = -130
	maxExpression     = 4 << 10
	maxOperators      = 300 // in one expression
	maxInOperands     = 100
	maxPlaceholder    = 255
	pageSize          = 1 << 20 // of a Query or Scan
	maxBatchGetKeys   = 100
	maxBatchGetSize   = 16 << 20
	maxBatchWrites    = 25
	maxRequestSize    = 16 << 20
	maxTablesListed   = 100
	writeUnitSize     = 1 << 10
	readUnitSize      = 4 << 10
	oldestExpiryYears = 5 // an expiry further back than this is taken for a mistake
)
