package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"toolhost/pkg/protocol"
)

// TestSlowClients holds connections: with half a head, half a body, an answer
// that is not read, and a half that is closed. Others are answered meanwhile, and
// what was held goes on or ends when it is let go.
func TestSlowClients(t *testing.T) { // R-H5, R-H10
	g := attacked(t)
	crowd := 200
	if testing.Short() || raced {
		crowd = 50
	}
	request := strings.Join(echoed(g.host, "Content-Length: "+itoa(len(echoBody))), "\r\n") + "\r\n\r\n" + echoBody
	answered := func(what string, c net.Conn) {
		t.Helper()
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		defer response.Body.Close()
		if body, _ := io.ReadAll(response.Body); response.StatusCode != 200 || !strings.Contains(string(body), "smuggled") {
			t.Errorf("%s: %d %s", what, response.StatusCode, body)
		}
	}
	for _, part := range []int{1, len(request) - len(echoBody) - 10, len(request) - len(echoBody), len(request) - 1} {
		var held []*net.TCPConn
		for range crowd {
			c := g.dial()
			_, err := io.WriteString(c, request[:part])
			must(t, err)
			held = append(held, c)
		}
		g.alive()
		for i, c := range held {
			switch i % 3 {
			case 0: // a slow one is served like any other
				_, err := io.WriteString(c, request[part:])
				must(t, err)
				answered(fmt.Sprint("slow from ", part), c)
			case 1:
				must(t, c.SetLinger(0)) // a reset
			}
			must(t, c.Close())
		}
		g.alive()
	}

	// Answers that nobody reads: larger than what the system keeps for a connection.
	large := message(protocol.MethodToolsCall, map[string]any{"name": "echo", "arguments": words{strings.Repeat("x", 1_000_000)}})
	var held []*net.TCPConn
	var writing sync.WaitGroup
	for range 10 {
		c := g.dial()
		must(t, c.SetReadBuffer(64<<10))
		one := strings.Join(echoed(g.host, "Content-Length: "+itoa(len(large))), "\r\n") + "\r\n\r\n" + large
		writing.Go(func() { _, _ = io.WriteString(c, strings.Repeat(one, 8)) }) // it ends with the connection
		held = append(held, c)
	}
	g.alive()
	for i, c := range held {
		if i%2 == 0 {
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			must(t, err)
			if n, err := io.Copy(io.Discard, response.Body); err != nil || n < 1_000_000 {
				t.Errorf("a slow reader got %d bytes, %v", n, err)
			}
		}
		must(t, c.Close())
	}
	writing.Wait()
	g.alive()

	// A client that has said all it has to say, and says so.
	for range 20 {
		c := g.dial()
		_, err := io.WriteString(c, request)
		must(t, err)
		must(t, c.CloseWrite())
		if response, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			g.sound("half closed", answer{status: response.StatusCode, header: response.Header, body: body}, "")
		}
		must(t, c.Close())
	}
	g.alive()
}

// TestListeners holds streams, and hangs up on them: the listens end, and the
// tasks go on.
func TestListeners(t *testing.T) { // R-L3, R-H10
	g := attacked(t)
	id := g.task("ask")
	g.until(id, "input_required")
	body := message(protocol.MethodListen, watched(id))
	var held []*net.TCPConn
	for range 50 {
		c := g.dial()
		_, err := io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: "+g.host+"\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"+
			"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: "+itoa(len(body))+"\r\n\r\n"+body)
		must(t, err)
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(t, err)
		if first, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || first != "event: message\n" {
			t.Fatalf("%q, %v", first, err)
		}
		held = append(held, c)
	}
	g.alive()
	for _, c := range held {
		must(t, c.SetLinger(0))
		must(t, c.Close())
	}
	g.alive()
	g.modern(protocol.MethodTasksUpdate, map[string]any{"taskId": id, "inputResponses": map[string]any{"who": map[string]any{"action": "accept", "content": map[string]string{"name": "Ada"}}}})
	if end := g.until(id, "completed"); !strings.Contains(string(end.Result), "Ada") {
		t.Errorf("the task ended with %s", end)
	}
}
