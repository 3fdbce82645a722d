//go:build conformance

package conformance_test

// canonicalChat are the recorded chat answers, by name, whose calls clients read in
// different ways, with the reason. Released unchanged they go out in canonical form,
// so their bytes differ from those that upstream sent.
var canonicalChat = map[string]string{
	"anthropic-compat/chat-first-index-is-1.sse#0":                  "its calls are numbered from 1",
	"azure/chat-async-content-filter.sse.txt#0":                     "each event has a finish reason",
	"cerebras/chat-two-completions-same-index.chunks.txt#2-unsplit": "the id of the answer changes",
	"mistral/chat-empty-name-continuation.chunks.txt#0":             "an unknown field is in the delta",
	"mistral/chat-no-index-no-type.chunks.txt#0":                    "its calls have no numbers",
	"openai/chat-n2-interleaved-tools.yaml#0":                       "the calls of two choices interleave",
	"openrouter/chat-arguments-missing-nonstream.yaml#0":            "its call has no arguments field",
	"openrouter/chat-novita-kimi-name-id-repeated.yaml#0":           "each event repeats id and name",
	"snowflake/chat-finish-empty-nonstream.yaml#0":                  "an empty call of another kind is beside",
	"tgi/chat-tool-stream-name-null.json#0":                         "each event repeats the id",
	"writer/chat-seven-parallel-message-and-delta.yaml#0":           "a message repeats the delta",
}
