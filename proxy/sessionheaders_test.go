package proxy

import "testing"

func TestNamesSession(t *testing.T) {
	for _, name := range []string{
		"session-id", "session_id", "thread-id", "x-claude-code-session-id", "x-session-affinity", "x-conversation-id", "x-openwebui-chat-id", "x-task-id", "x-kilocode-taskid",
		"vscode-sessionid", "x-amzn-bedrock-agentcore-runtime-session-id", "langfuse_user_id", "helicone-user-id", "helicone-property-app", "x-portkey-metadata", "cf-aig-metadata",
		"x-litellm-end-user-id", "x-litellm-tags", "x-consumer-id", "x-member-id", "x-auth-request-email", "x-workspace-id", "x-org-id", "x-team-id", "x-device-id", "x-client-id",
		"x-agent-id", "x-profile-id", "x-visitor-id", "x-subject", "x-identity", "x-room-id", "x-channel-id", "x-context-id", "x-tenant", "chatgpt-account-id",
		"openai-organization", "openai-project", "openai-beta", "anthropic-beta", "anthropic-version", "anthropic-workspace-id", "x-goog-user-project",
		"authorization", "x-api-key", "api-key", "x-goog-api-key", "ocp-apim-subscription-key", "x-portkey-api-key", "x-litellm-api-key", "helicone-auth", "x-auth-token",
	} {
		if !namesSession([]byte(name), []byte("Basic YW5u")) {
			t.Errorf("%s does not count", name)
		}
	}
	// A repetition may have others.
	for _, name := range []string{
		"user-agent", "idempotency-key", "x-stainless-retry-count", "x-stainless-timeout", "x-stainless-read-timeout", "x-request-id", "x-client-request-id", "x-correlation-id", "traceparent", "tracestate",
		"baggage", "b3", "x-b3-traceid", "sentry-trace", "x-datadog-trace-id", "x-amzn-trace-id", "x-amz-date", "date", "via", "forwarded", "x-forwarded-for", "x-real-ip", "cookie", "content-length", "accept",
		"accept-encoding", "connection", "host", "origin", "sec-websocket-key", "x-heldcall-session", "x-codex-window-id",
	} {
		if namesSession([]byte(name), []byte("1")) {
			t.Errorf("%s counts", name)
		}
	}
	if namesSession([]byte("authorization"), []byte("AWS4-HMAC-SHA256 Credential=x, Signature=y")) {
		t.Error("a signature counts")
	}
}
