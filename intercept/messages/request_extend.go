package messages

import (
	"fmt"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// extendRequest returns the body of a request with messages appended. It relaxes a tool choice
// that forces a certain call, and with free one that forces any call, so that the model
// may answer otherwise. It names the container of the answer, raw JSON, "" for none. All
// other bytes are kept.
func extendRequest(body []byte, messages []string, container string, free bool) ([]byte, error) {
	r, err := parseRequest(intercept.Envelope{Body: body})
	if err != nil {
		return nil, err
	}
	span, _ := r.At("messages")
	p := strictjson.Patch{JSON: string(strictjson.Replace(body, span, strictjson.AppendItems(r.Field("messages"), messages...)))}
	r.relaxChoice(&p, free)
	r.keepContainer(&p, container)
	if p.Err != nil {
		return nil, fmt.Errorf("extend the request: %w", p.Err)
	}
	return []byte(p.JSON), nil
}

func (r *request) relaxChoice(p *strictjson.Patch, free bool) {
	switch choice := r.Value("tool_choice"); {
	case !free && choice.Get("type").Str != "tool":
	case choice.Str == "any", choice.Str == "required":
		p.Set("tool_choice", `{"type":"auto"}`)
	case choice.Get("type").Str == "any", choice.Get("type").Str == "tool":
		p.Set("tool_choice.type", `"auto"`)
		if choice.Get("name").Exists() {
			p.Delete("tool_choice.name")
		}
	}
}

// keepContainer lets the provider's code, which may wait for the results of its calls,
// continue in the container in which it runs.
func (r *request) keepContainer(p *strictjson.Patch, container string) {
	if container == "" {
		return
	}
	switch requested := r.Value("container"); {
	case requested.Type == gjson.Null:
		p.Set("container", container)
	case requested.IsObject() && requested.Get("id").Type == gjson.Null:
		p.Set("container.id", container)
	}
}
