package csvprofile

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestReader/… : the records of csv-spectrum's files are what its JSON says,
// whichever line ends the files have. Line ends inside a field come out as LF.
func TestReader(t *testing.T) {
	files, err := filepath.Glob("testdata/csv-spectrum/*.csv")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		text, want := readFile(t, file), []map[string]string{}
		meaning := readFile(t, strings.TrimSuffix(file, ".csv")+".json")
		if err := json.Unmarshal([]byte(strings.ReplaceAll(meaning, `\r\n`, `\n`)), &want); err != nil {
			t.Fatal(err)
		}
		for ends, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
			t.Run(name+"_with_"+ends+"_is_what_its_JSON_says", func(t *testing.T) {
				if got := readObjects(t, strings.ReplaceAll(text, "\n", end)); !reflect.DeepEqual(got, want) {
					t.Errorf("got  %q\nwant %q", got, want)
				}
			})
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func readObjects(t *testing.T, text string) []map[string]string {
	t.Helper()
	r := newReader([]byte(text), 1, ',')
	var names []string
	objects := []map[string]string{}
	for {
		rec, err := r.next()
		switch {
		case err == io.EOF:
			return objects
		case err != nil:
			t.Fatal(err)
		case rec.misquoted || rec.cut:
			t.Fatalf("line %d was not read as it stands", rec.line)
		case names == nil:
			names = append(names, rec.fields...)
			continue
		}
		object := map[string]string{}
		for i, field := range rec.fields {
			object[names[i]] = field
		}
		objects = append(objects, object)
	}
}
