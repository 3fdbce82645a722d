//go:build conformance

package conformance_test

// canonicalResponses are the recorded answers of Responses, by name, whose calls
// clients read in different ways, with the reason. Released unchanged they go out in
// canonical form, so their bytes differ from those that upstream sent.
var canonicalResponses = map[string]string{
	"lmstudio/responses-tool-call.chunks.txt#0":        "its call has no deltas",
	"openai/responses-client-tool-search.chunks.txt#0": "the id of its call changes",
}
