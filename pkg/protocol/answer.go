package protocol

import (
	"encoding/json"
	"errors"
)

// CheckAnswer reports what is wrong with the shape of a client's response to a
// question of the method. Extra properties are no fault, and whether content
// fits the requested schema is for the tool to judge (R-U7).
func CheckAnswer(method string, response json.RawMessage) error {
	var answer map[string]json.RawMessage
	if !isObject(response) || json.Unmarshal(response, &answer) != nil {
		return errors.New("it must be an object")
	}
	switch method {
	case MethodElicit:
		switch text(answer["action"]) {
		case "accept", "decline", "cancel":
		default:
			return errors.New("action must be accept, decline or cancel")
		}
		if content := answer["content"]; content != nil && string(content) != "null" && !isObject(content) {
			return errors.New("content must be an object")
		}
	case MethodSample:
		if r := text(answer["role"]); r != "assistant" && r != "user" {
			return errors.New("role must be assistant or user")
		}
		if content := answer["content"]; !isObject(content) && !(len(content) > 0 && content[0] == '[') {
			return errors.New("content must be an object or an array")
		}
		if !isText(answer["model"]) {
			return errors.New("model must be a string")
		}
	case MethodRoots:
		var roots []map[string]json.RawMessage
		if r := answer["roots"]; len(r) == 0 || r[0] != '[' || json.Unmarshal(r, &roots) != nil {
			return errors.New("roots must be an array of objects")
		}
		for _, root := range roots {
			if !isText(root["uri"]) {
				return errors.New("each root must have a uri")
			}
		}
	}
	return nil
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

func text(raw json.RawMessage) string {
	var s string
	if isText(raw) {
		_ = json.Unmarshal(raw, &s)
	}
	return s
}
