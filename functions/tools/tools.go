package tools

import "toolhost/pkg/tool"

// Registry returns the tools of this deployment in the order in which they are
// listed. The first is one that any client can call.
func Registry() *tool.Registry {
	reg := tool.New()
	for _, register := range []func(*tool.Registry){
		registerCSVProfile,
		registerBatchHTTPCheck,
		registerDeployApproval,
	} {
		register(reg)
	}
	return reg
}
