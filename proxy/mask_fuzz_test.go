package proxy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/mask"
	"github.com/heldcall/heldcall/proxy/turn"
	"github.com/valyala/fasthttp"
)

// kept are the secrets of every principal in these tests.
var kept = []mask.Secret{
	{Name: "TOKEN", Value: "ghp_R4nd0mSecret-Value/42"},
	{Name: "PASSWORD", Value: `p"a\ss $wörd'&%`},
	{Name: "NUMBER", Value: "84719203657481920365"},
	{Name: "ESCAPED", Value: `nt\u0041\"n%41"b+`},
	{Name: "LONG", Value: strings.Repeat("x9Q/", 90)},
}

type keptSecrets struct{}

func (keptSecrets) Await(context.Context) error { return nil }

func (keptSecrets) Masker(approvals.Principal) (*mask.Masker, error) { return mask.New(kept), nil }

// forms are the encodings of docs/secrets.md.
func forms(value string) []string {
	inJSON := func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) }
	all := []string{value, inJSON(value), inJSON(inJSON(value)), url.QueryEscape(value), url.PathEscape(value), inJSON(url.QueryEscape(value)), url.QueryEscape(inJSON(value))}
	for _, before := range []string{"", "u", "us"} {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(before+value)), base64.RawURLEncoding.EncodeToString([]byte(before+value+"!")))
	}
	for _, q := range []mask.Quoting{mask.Bare, mask.Double, mask.Single} {
		all = append(all, q.Quote(value))
	}
	return all
}

var base64Digits = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}`)

// readings are what a reader of a text can make of it with the decoders of the standard
// library.
func readings(text string) []string {
	all := []string{text}
	for i := 0; i < len(all) && i < 12; i++ {
		var unquoted string
		if json.Unmarshal([]byte(`"`+all[i]+`"`), &unquoted) == nil && unquoted != all[i] {
			all = append(all, unquoted)
		}
	}
	for _, one := range slices.Clone(all) {
		for _, decode := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
			if plain, err := decode(one); err == nil && plain != one {
				all = append(all, plain)
			}
		}
	}
	for _, one := range slices.Clone(all) {
		for _, run := range base64Digits.FindAllString(one, -1) {
			run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
			for from := range 4 {
				if plain, err := base64.RawStdEncoding.DecodeString(run[from : from+(len(run)-from)/4*4]); err == nil {
					all = append(all, string(plain))
				}
			}
		}
	}
	return all
}

// reads returns the secret that a reader finds in a text, "" for none.
func reads(text string) string {
	for _, one := range readings(text) {
		for _, s := range kept {
			if strings.Contains(one, s.Value) {
				return s.Name
			}
		}
	}
	return ""
}

// textsOf appends the strings and numbers of a JSON value, and the texts of the parts of each list as one.
func textsOf(all []string, value any) []string {
	switch v := value.(type) {
	case string:
		return append(all, v)
	case json.Number:
		return append(all, v.String())
	case map[string]any:
		for name, one := range v {
			all = textsOf(append(all, name), one)
		}
	case []any:
		joined := ""
		for _, one := range v {
			if part, ok := one.(map[string]any); ok {
				text, _ := part["text"].(string)
				joined += text
			}
			all = textsOf(all, one)
		}
		return append(all, joined)
	}
	return all
}

// decode reads one JSON value.
func decode(t *testing.T, text []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// requests are those of each dialect, each place of a text once: @ is the text, @1 and @2 are
// its halves, @args is the text in the arguments of a call, @number the text as a number.
var requests = []string{
	`{"messages":[{"role":"system","content":"@"},{"role":"user","content":[{"type":"text","text":"@1"},{"type":"image_url","image_url":{"url":"@"}},{"type":"text","text":"@2"}]}]}`,
	`{"messages":[{"role":"assistant","content":null,"refusal":"@","tool_calls":[{"id":"c","type":"function","function":{"name":"x","arguments":"@args"}}]},{"role":"tool","tool_call_id":"c","content":"@"}]}`,
	`{"messages":[{"role":"assistant","tool_calls":[{"id":"@","type":"custom","custom":{"name":"@","input":"@"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"@1"},{"text":"@2","type":"text"}]}]}`,
	`{"model":"@","messages":[],"metadata":{"@":"@"},"tools":[{"type":"function","function":{"name":"x","description":"@","parameters":{"enum":["@"]}}}]}`,
	`{"system":[{"type":"text","text":"@1"},{"type":"text","text":"@2"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"@1"},{"type":"text","text":"@2"}]},{"type":"text","text":"@1"},{"type":"text","text":"@2"}]}]}`,
	`{"system":"@","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"@"},{"type":"tool_use","id":"c","name":"x","input":{"a":[{"b":"@"},@number],"@":null}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"@"},{"type":"document","source":{"type":"text","data":"@"}}]}]}`,
	`{"instructions":"@","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"@1"},{"type":"input_text","text":"@2"}]},{"type":"function_call_output","call_id":"c","output":"@"},{"type":"function_call_output","call_id":"d","output":[{"type":"input_text","text":"@1"},{"type":"input_text","text":"@2"}]}]}`,
	`{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"@1"},{"type":"summary_text","text":"@2"}]},{"type":"function_call","call_id":"c","name":"x","arguments":"@args"},{"type":"custom_tool_call","input":"@"},{"type":"local_shell_call","action":{"command":["@","@"],"env":{"A":"@"}}}]}`,
	`{"input":"@"}`,
	`@`,
}

// filled fills a template with a text.
func filled(template, text string, cut int) []byte {
	inJSON := func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) }
	for cut = min(cut, len(text)); cut > 0 && !utf8.RuneStart((text + "x")[cut]); cut-- {
	}
	number := "0"
	if text == kept[2].Value {
		number = text
	}
	arguments, _ := json.Marshal(map[string]string{"command": text})
	return []byte(strings.NewReplacer("@number", number, "@args", inJSON(string(arguments)), "@1", inJSON(text[:cut]), "@2", inJSON(text[cut:]), "@", inJSON(text)).Replace(template))
}

// FuzzMaskedRequest: wherever a request has a secret, in whichever encoding and split
// over parts, no reader of what goes upstream finds it.
func FuzzMaskedRequest(f *testing.F) {
	for i := range requests {
		for which := range kept {
			f.Add(uint8(i), uint8(which), uint8(i+which), uint16(5+7*i), "before ", " after")
		}
	}
	f.Add(uint8(0), uint8(3), uint8(1), uint16(1), `\`, "")
	f.Fuzz(func(t *testing.T, template, which, form uint8, cut uint16, before, after string) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) || len(before)+len(after) > 300 {
			return
		}
		all := forms(kept[int(which)%len(kept)].Value)
		text := before + all[int(form)%len(all)] + after
		r := agentRequest{path: "/v1/x", body: filled(requests[int(template)%len(requests)], text, int(cut))}
		sent := slices.Clone(r.body)
		if refusal := maskHead(t.Context(), keptSecrets{}, approvals.Principal{}, &r, &fasthttp.RequestHeader{}); refusal != nil {
			t.Fatal(refusal)
		}
		r.body = r.masker.JSON(r.body)
		var got []string
		if json.Valid(sent) {
			got = textsOf(nil, decode(t, r.body))
		} else {
			got = []string{string(r.body)}
		}
		for _, one := range got {
			if name := reads(one); name != "" {
				t.Fatalf("%s\nbecomes %s\nwhose text %q has %s", sent, r.body, one, name)
			}
		}
	})
}

// events are the pieces of a text in the answers of each dialect: @ is the piece. The other
// events are of another text, or of none.
var events = []struct{ piece, other, end string }{
	{`{"choices":[{"index":0,"delta":{"content":"@"}}]}`, `{"choices":[{"index":1,"delta":{"content":"@"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`},
	{`{"choices":[{"index":1,"delta":{"reasoning_content":"@"},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{"content":"@"}}]}`, `{"choices":[{"index":1,"content_filter_results":{},"delta":{},"finish_reason":null}]}`},
	{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"@"}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"@"}}]}}]}`, `{"choices":[],"usage":{"total_tokens":1}}`},
	{`{"choices":[{"index":0,"delta":{"content":"-"}},{"delta":{"content":"@"},"index":1}]}`, `{"choices":[{"index":0,"delta":{"content":"@"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`},
	{`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"@"}},{"function":{"arguments":"-"}}]}}]}`, `{"usage":{},"choices":[{"delta":{"content":"@"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":""}},{"function":{"arguments":"-"}}]}}]}`},
	{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"@"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"@"}}`, `{"type":"ping"}`},
	{`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"@"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"@"}}`, `{"type":"content_block_stop","index":0}`},
	{`{"type":"response.output_text.delta","item_id":"a","output_index":0,"content_index":0,"delta":"@","sequence_number":1}`, `{"type":"response.output_text.delta","item_id":"b","output_index":1,"content_index":0,"delta":"@"}`, `{"type":"response.output_item.added","output_index":2,"item":{"type":"message"}}`},
	{`{"type":"response.function_call_arguments.delta","item_id":"a","output_index":0,"delta":"@"}`, `{"type":"response.reasoning_summary_text.delta","item_id":"a","output_index":0,"summary_index":0,"delta":"@"}`, `{"type":"response.in_progress","response":{}}`},
}

// pieces are the pieces of a text, whose lengths are in cuts.
func pieces(text string, cuts []byte) (all []string) {
	for i := 0; text != ""; i++ {
		n := len(text)
		if len(cuts) > 0 {
			n = min(n, 1+int(cuts[i%len(cuts)])%16)
		}
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		all, text = append(all, text[:n]), text[n:]
	}
	return all
}

// blocks is a body that arrives in blocks.
type blocks struct {
	turn.Response
	rest []string
}

func (b *blocks) Next() ([]byte, error) {
	if len(b.rest) == 0 {
		return nil, io.EOF
	}
	next := []byte(b.rest[0])
	b.rest = b.rest[1:]
	return next, nil
}

// FuzzMaskedAnswer: however an answer with a secret is cut into events and blocks, and
// whatever comes between, no reader of what the agent gets finds it, and no event is lost.
func FuzzMaskedAnswer(f *testing.F) {
	for i := range events {
		for which := range kept {
			f.Add(uint8(i), uint8(which), uint8(i+which), uint8(which), []byte{1, 7, 3}, []byte{200, 3}, "before ", " after")
		}
	}
	f.Fuzz(func(t *testing.T, dialect, which, form, between uint8, cuts, network []byte, before, after string) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) || len(before)+len(after) > 300 {
			return
		}
		all, e := forms(kept[int(which)%len(kept)].Value), events[int(dialect)%len(events)]
		text := before + all[int(form)%len(all)] + after
		var body strings.Builder
		n := 0
		write := func(event, text string) {
			quoted, _ := json.Marshal(text)
			fmt.Fprintf(&body, "data: %s\n\n", strings.ReplaceAll(event, `"@"`, string(quoted)))
			n++
		}
		for i, piece := range pieces(text, cuts) {
			write(e.piece, piece)
			switch (int(between) + i) % 5 {
			case 1:
				write(e.other, "-")
			case 2:
				write(e.end, "")
			case 3:
				body.WriteString(": comment\n\n")
			}
		}
		body.WriteString("data: [DONE]\n\n")
		m := mask.New(kept)
		masked := maskedResponse{Response: &blocks{rest: pieces(body.String(), network)}, masker: m, stream: m.NewStream(0)}
		var out bytes.Buffer
		for {
			p, err := masked.Next()
			if out.Write(p); err != nil {
				break
			}
		}
		template := decode(t, []byte(e.piece))
		got, seen := "", 0
		for line := range strings.Lines(out.String()) {
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			seen++
			got += textAt(template, decode(t, []byte(data)))
		}
		if name := reads(got); name != "" || seen != n || !strings.HasSuffix(out.String(), "data: [DONE]\n\n") {
			t.Fatalf("%s\nbecomes %s\nwith %d of %d events and the text %q, which has %q", body.String(), out.String(), seen, n, got, name)
		}
	})
}

// textAt returns the text that a value has where a template has @; "" if its other members
// differ from it.
func textAt(template, value any) (text string) {
	switch v := template.(type) {
	case map[string]any:
		other, _ := value.(map[string]any)
		if len(other) != len(v) {
			return ""
		}
		for name, one := range v {
			if _, same := other[name]; !same {
				return ""
			}
			if index, ok := one.(json.Number); ok && index != other[name] {
				return ""
			}
		}
		for name, one := range v {
			text += textAt(one, other[name])
		}
	case []any:
		other, _ := value.([]any)
		for i, one := range v {
			if i < len(other) {
				text += textAt(one, other[i])
			}
		}
	case string:
		if v == "@" {
			text, _ = value.(string)
		}
	}
	return text
}
