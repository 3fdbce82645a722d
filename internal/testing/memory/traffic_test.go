//go:build memory

package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	manyCalls  = 300
	manyBytes  = 8 << 10   // of the arguments of each
	callsBytes = 60 << 20  // of the calls of a large answer
	pieceBytes = 64 << 10  // of an event of it
	imageBytes = 512 << 10 // of one image of a large request
)

// model is a model's API. The name of the model in a request says what the answer is.
type model struct{ addr string }

func startModel(t *testing.T) *model {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close() })
	return &model{addr: ln.Addr().String()}
}

func answer(w http.ResponseWriter, r *http.Request) {
	head := make([]byte, 64)
	n, _ := io.ReadFull(r.Body, head)
	name, _, _ := strings.Cut(strings.TrimPrefix(string(head[:n]), `{"model":"`), `"`)
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	switch name {
	case "small":
		call(w, 0, "call_small", "deploy_small", `{"to":"staging"}`)
		finish(w, "tool_calls")
	case "many":
		arguments := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", manyBytes))
		for i := range manyCalls {
			call(w, i, fmt.Sprintf("call_%d", i), "deploy_many", arguments)
		}
		finish(w, "tool_calls")
	case "calls":
		call(w, 0, "call_large", "deploy_large", `{"text":"`)
		piece, _ := json.Marshal(strings.Repeat("x", pieceBytes))
		for range callsBytes / pieceBytes {
			event(w, fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}`, piece), "null")
		}
		event(w, `{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, "null")
		finish(w, "tool_calls")
	default:
		time.Sleep(300 * time.Millisecond) // the model thinks
		event(w, `{"content":"done"}`, "null")
		finish(w, "stop")
	}
}

func call(w io.Writer, i int, id, name, arguments string) {
	text, _ := json.Marshal(arguments)
	event(w, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, i, id, name, text), "null")
}

func event(w io.Writer, delta, finish string) {
	fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1763712000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
}

func finish(w io.Writer, reason string) {
	event(w, "{}", fmt.Sprintf("%q", reason))
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// ask sends a request for a streamed answer with about size bytes of images, and reads the answer. It sends a
// request that is refused with 503 again, as the SDKs do.
func ask(ctx context.Context, addr, model string, size int) (status int, err error) {
	for range 3 {
		if status, err = askOnce(ctx, addr, model, size); status != http.StatusServiceUnavailable {
			break
		}
		time.Sleep(time.Second)
	}
	return status, err
}

var image = strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", imageBytes/24)

// tasks counts the requests: each is of a conversation of its own.
var tasks atomic.Int64

func askOnce(ctx context.Context, addr, model string, size int) (status int, err error) {
	var tools []string
	for _, name := range []string{"deploy_small", "deploy_many", "deploy_large"} {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}}}}}`, name))
	}
	parts := []io.Reader{strings.NewReader(fmt.Sprintf(`{"model":%q,"stream":true,"tools":[%s],"messages":[{"role":"user","content":[{"type":"text","text":"task %d"}`, model, strings.Join(tools, ","), tasks.Add(1)))}
	length := parts[0].(*strings.Reader).Len()
	add := func(text string) { parts, length = append(parts, strings.NewReader(text)), length+len(text) }
	for range size / imageBytes {
		add(`,{"type":"image_url","image_url":{"url":"data:image/png;base64,`)
		add(image)
		add(`"}}`)
	}
	add(`]}]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/chat/completions", io.MultiReader(parts...))
	if err != nil {
		return 0, err
	}
	req.ContentLength = int64(length)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && model == "small" && (resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("deploy_small"))) {
		err = fmt.Errorf("status %d, and not the call: %.500s", resp.StatusCode, body)
	}
	return resp.StatusCode, err
}

// approve approves the next pending request about a small call. It looks again after 503, as people do.
func approve(ctx context.Context, console, name string) error {
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		id, status, err := find(ctx, console, "deploy_"+name)
		switch {
		case ctx.Err() != nil:
			return nil // the agent has its answer
		case err != nil:
			return fmt.Errorf("the reviewer's list: %w", err)
		case status == http.StatusServiceUnavailable || id == "":
			continue
		}
		status, text, err := send(ctx, http.MethodPost, console+"/api/v1/requests/"+id+"/decision", `{"action":"approve"}`)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil || (status != http.StatusOK && status != http.StatusServiceUnavailable && status != http.StatusConflict):
			return fmt.Errorf("the reviewer's decision: status %d, %w: %s", status, err, text)
		}
	}
	return nil
}

// find returns the id of a pending request about a tool, "" for none.
func find(ctx context.Context, console, tool string) (id string, status int, err error) {
	status, text, err := send(ctx, http.MethodGet, console+"/api/v1/requests?status=pending&limit=10", "")
	if err != nil || status == http.StatusServiceUnavailable {
		return "", status, err
	}
	var page struct {
		Items []struct {
			ID       string `json:"id"`
			ToolName string `json:"tool_name"`
		} `json:"items"`
	}
	if err := json.Unmarshal(text, &page); err != nil || status != http.StatusOK {
		return "", status, fmt.Errorf("status %d, %w", status, err)
	}
	for _, item := range page.Items {
		if item.ToolName == tool {
			return item.ID, status, nil
		}
	}
	return "", status, nil
}

// send sends a request to the console, and reads the answer.
func send(ctx context.Context, method, url, body string) (status int, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// pending is how many requests wait for people, up to 500.
func pending(ctx context.Context, console string) int {
	var page struct {
		Items []struct{} `json:"items"`
	}
	_, text, _ := send(ctx, http.MethodGet, console+"/api/v1/requests?status=pending&limit=500", "")
	_ = json.Unmarshal(text, &page)
	return len(page.Items)
}
