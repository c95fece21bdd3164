package main

import (
	"encoding/json"
	"slices"
	"strings"
)

// Flags after a tool's name are parsed here and not by the library that parses
// the rest: their names are other people's property names, which may hold
// anything, and their values may begin with dashes.

// flag is one flag: of the command's own, or for a property of the tool's.
type flag struct {
	name     string // without dashes
	own      any    // *string or *bool to set; nil for a property's
	property property
	file     bool // takes a path: the tool's one file
	value    string
	help     string
}

// bare reports whether the flag stands alone.
func (f flag) bare() bool {
	_, own := f.own.(*bool)
	return own || f.own == nil && !f.file && f.property.kinds.only("boolean")
}

// toolFlags are all flags that may follow the tool: its own first. A property
// whose name a flag of ours has is --arg-NAME.
func toolFlags(s inputSchema, own []flag) []flag {
	taken := func(flags []flag, name string) bool {
		return slices.ContainsFunc(flags, func(f flag) bool { return f.name == name })
	}
	var flags []flag
	file, hasFile := s.file()
	if hasFile {
		own = append(own[:len(own):len(own)], flag{name: "file"}) // so that no other property takes it
	}
	for _, p := range s.properties {
		f := flag{name: flagName(p.name), property: p, value: placeholder(p), help: describe(p), file: hasFile && p.name == file}
		if f.file {
			f.name, f.value = "file", "PATH"
		}
		for !f.file && (f.name == "" || taken(own, f.name) || taken(flags, f.name)) {
			f.name = "arg-" + f.name
		}
		flags = append(flags, f)
	}
	if hasFile {
		own = own[:len(own)-1]
	}
	return append(flags, own...)
}

// flagName is a property's name as a flag: what a shell would split or expand
// becomes a dash.
func flagName(property string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n=\"'`$&|;<>()*?![]{}\\#~", r) {
			return '-'
		}
		return r
	}, plain(property))
}

// given is a flag with its value as text.
type given struct {
	flag flag
	text string
}

// parseFlags reads --name value, --name=value, --name and --no-name.
func parseFlags(flags []flag, args []string) ([]given, error) {
	var out []given
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "-h" {
			arg = "--help"
		}
		f, text, hasText, known := findFlag(flags, arg)
		switch {
		case !known && !strings.HasPrefix(arg, "-"):
			return nil, usagef("what is %q? Arguments are given as --key value", arg)
		case !known:
			return nil, usagef("there is no %s", arg)
		case hasText:
		case f.bare():
			text = "true"
			if f.own == nil && len(args) > 0 && (args[0] == "true" || args[0] == "false") {
				text, args = args[0], args[1:]
			}
		case len(args) == 0:
			return nil, usagef("--%s needs a value", f.name)
		default:
			if _, _, _, isFlag := findFlag(flags, args[0]); isFlag {
				return nil, usagef("--%s needs a value; if that is %s, write --%s=%s", f.name, args[0], f.name, args[0])
			}
			text, args = args[0], args[1:]
		}
		out = append(out, given{f, text})
	}
	return out, nil
}

// findFlag finds the flag that an argument names: by the flag's name, by the
// property's, or by either in any case and with dashes or underscores, unless
// two differ only in that.
func findFlag(flags []flag, arg string) (f flag, text string, hasText, known bool) {
	name, ok := strings.CutPrefix(arg, "--")
	if !ok || name == "" {
		return flag{}, "", false, false
	}
	name, text, hasText = strings.Cut(name, "=")
	for _, named := range []func(flag, string) bool{
		func(f flag, name string) bool { return f.name == name },
		func(f flag, name string) bool { return f.own == nil && !f.file && f.property.name == name },
		func(f flag, name string) bool { return loosely(f.name) == loosely(name) },
	} {
		if f, ok := onlyOne(flags, func(f flag) bool { return named(f, name) }); ok {
			return f, text, hasText, true
		}
		negated, is := strings.CutPrefix(name, "no-")
		if f, ok := onlyOne(flags, func(f flag) bool { return is && !hasText && f.own == nil && f.bare() && named(f, negated) }); ok {
			return f, "false", true, true
		}
	}
	return flag{}, "", false, false
}

// onlyOne is the only flag of which is is true.
func onlyOne(flags []flag, is func(flag) bool) (one flag, ok bool) {
	for _, f := range flags {
		if is(f) {
			if ok {
				return flag{}, false
			}
			one, ok = f, true
		}
	}
	return one, ok
}

func loosely(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// setOwn sets the flags of ours and returns the others.
func setOwn(all []given) ([]given, error) {
	var rest []given
	for _, g := range all {
		switch own := g.flag.own.(type) {
		case *string:
			*own = g.text
		case *bool:
			if g.text != "true" && g.text != "false" {
				return nil, usagef("--%s is true or false, not %q", g.flag.name, g.text)
			}
			*own = g.text == "true"
		default:
			rest = append(rest, g)
		}
	}
	return rest, nil
}

// placeholder names what a property takes.
func placeholder(p property) string {
	switch {
	case p.kinds.only("boolean"):
		return ""
	case p.kinds.only("object"):
		return "JSON"
	case p.kinds.only("array"):
		return strings.ToUpper(first(p.items, "value")) + " …"
	}
	return strings.ToUpper(first(p.kinds, "value"))
}

func first(k kinds, otherwise string) string {
	if len(k) == 0 {
		return otherwise
	}
	return k[0]
}

// describe is a property's help.
func describe(p property) string {
	help := p.description
	if help == "" {
		help = p.title
	}
	sentence := func(s string) {
		if help = strings.TrimSpace(help); help != "" && !strings.HasSuffix(help, ".") {
			help += "."
		}
		help = strings.TrimSpace(help + " " + s)
	}
	if len(p.enum) > 0 {
		values := make([]string, len(p.enum))
		for i, v := range p.enum {
			raw, _ := json.Marshal(v)
			values[i] = strings.Trim(string(raw), `"`)
		}
		sentence("One of " + strings.Join(values, ", ") + ".")
	}
	if p.fallback != nil {
		sentence("Default " + string(p.fallback) + ".")
	}
	if p.required {
		sentence("Required.")
	}
	return help
}
