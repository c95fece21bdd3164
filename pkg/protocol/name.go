package protocol

// Methods of the client.
const (
	MethodDiscover    = "server/discover"
	MethodInitialize  = "initialize"
	MethodPing        = "ping"
	MethodToolsList   = "tools/list"
	MethodToolsCall   = "tools/call"
	MethodTasksGet    = "tasks/get"
	MethodTasksResult = "tasks/result"
	MethodTasksUpdate = "tasks/update"
	MethodTasksCancel = "tasks/cancel"
	MethodListen      = "subscriptions/listen"
)

// Requests of the server, which reach the client inside a result.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// Notifications.
const (
	NotificationProgress     = "notifications/progress"
	NotificationTasks        = "notifications/tasks"
	NotificationAcknowledged = "notifications/subscriptions/acknowledged"
	NotificationCancelled    = "notifications/cancelled"
)

// ExtensionTasks is the Tasks extension in capabilities.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// Keys of _meta.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaRelatedTask        = "io.modelcontextprotocol/related-task"
	MetaProgressToken      = "progressToken"
	MetaTraceParent        = "traceparent"
	// MetaIdempotencyKey is Toolhost's own: see package server.
	MetaIdempotencyKey = "toolhost/idempotencyKey"
)

// Values of resultType (R-P2).
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
	ResultTask          = "task"
)

// Values of cacheScope.
const (
	CachePublic  = "public"
	CachePrivate = "private"
)
