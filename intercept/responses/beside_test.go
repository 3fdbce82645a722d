package responses

import (
	"strings"
	"testing"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/intercepttest"
	"github.com/heldcall/heldcall/intercept/strictjson"
	"github.com/tidwall/gjson"
)

// What lies beside the input of a released call and clients or providers use reaches the agent: who made
// it, metadata, signatures, the id of the item. An edit keeps it.
func TestWhatLiesBesideACall(t *testing.T) {
	for _, item := range []string{function("a", "bash", ls), custom, local, shell, patch, computer, search} {
		for _, field := range []string{
			`"agent":{"agent_name":"/root/researcher"}`, `"caller":{"type":"program","caller_id":"call_prog"}`, `"caller":{"type":"direct"}`, `"created_by":"user_1"`,
			`"metadata":{"trace":"t1","n":[1]}`, `"internal_chat_message_metadata_passthrough":{"turn_id":"turn_1"}`,
			`"extra_content":{"google":{"thought_signature":"s"}}`, `"thought_signature":"s"`, `"signature":"s"`,
		} {
			kept := strings.Replace(item, `"type":`, field+`,"type":`, 1)
			entire := whole("resp_1", speech, kept)
			for body, want := range map[string]string{stream("resp_1", speech, kept): rendered("resp_1", speech, kept), entire: entire} {
				p := play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
				if p.Err != nil || string(p.Out()) != want {
					t.Errorf("%s: error %v; released:\n%s\nwant\n%s", field, p.Err, p.Out(), want)
				}
				p = play(t, asked(request1), bodies(body), []byte{40}, intercept.Limits{}, intercepttest.EditAll)
				if p.Err != nil || !strings.Contains(string(p.Out()), field) {
					t.Errorf("%s: error %v; edited:\n%s", field, p.Err, p.Out())
				}
			}
		}
	}
}

// The id of an item stays in each event about it; heldcall invents none.
func TestIDsOfItems(t *testing.T) {
	good := stream("resp_1", function("a", "bash", ls))
	done := strings.Index(good, "event: response.output_item.done")
	for name, tt := range map[string]struct{ body, id string }{
		"everywhere":            {good, "fc_a"},
		"where the item begins": {good[:done] + strings.ReplaceAll(good[done:], `"id":"fc_a",`, ""), "fc_a"},
		"nowhere":               {strings.NewReplacer(`"id":"fc_a",`, "", `"item_id":"fc_a",`, "").Replace(good), ""},
	} {
		p := play(t, asked(request1), bodies(tt.body), []byte{40}, intercept.Limits{}, intercepttest.ReleaseAll)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		for line := range strings.Lines(string(p.Out())) {
			v := gjson.Parse(strings.TrimPrefix(line, "data: "))
			for path, is := range map[string]bool{"item.id": v.Get("item.type").Str == "function_call", "item_id": strings.Contains(v.Get("type").Str, "arguments"), "response.output.0.id": v.Get("type").Str == "response.completed"} {
				if is && v.Get(path).Str != tt.id {
					t.Errorf("%s: %s is %s in %s", name, path, strictjson.Quote(v.Get(path).Str), line)
				}
			}
		}
	}
}
