package rule

import (
	"slices"
	"strings"
	"testing"
)

// Each rule of the detector of secrets finds the secret in a text, and nothing in the text
// without it.
func TestDetectorOfSecrets(t *testing.T) {
	text := func(n int, letter string) string { return strings.Repeat(letter, n) }
	for kind, secret := range map[string]string{
		"1password-service-account-token": "ops_eyJ" + text(250, "a"),
		"age-secret-key":                  "AGE-SECRET-KEY-1" + text(58, "Q"),
		"anthropic-api-key":               "sk-ant-api03-" + text(93, "x") + "AA",
		"aws-access-token":                "AKIA" + text(16, "Q"),
		"databricks-api-token":            "dapi" + text(32, "a"),
		"digitalocean-token":              "dop_v1_" + text(64, "0"),
		"doppler-api-token":               "dp.pt." + text(43, "a"),
		"gcp-api-key":                     "AIza" + text(35, "b"),
		"github-token":                    "ghp_" + text(36, "c"),
		"gitlab-pat":                      "glpat-" + text(20, "d"),
		"grafana-service-account-token":   "glsa_" + text(32, "e") + "_" + text(8, "f"),
		"heroku-api-key":                  "HRKU-AA" + text(58, "g"),
		"huggingface-access-token":        "hf_" + text(34, "h"),
		"jwt":                             "ey" + text(17, "i") + ".ey" + text(17, "j") + "." + text(10, "k"),
		"linear-api-key":                  "lin_api_" + text(40, "l"),
		"notion-api-token":                "ntn_" + text(11, "1") + text(35, "m"),
		"npm-access-token":                "npm_" + text(36, "n"),
		"openai-api-key":                  "sk-" + text(20, "o") + "T3BlbkFJ" + text(20, "p"),
		"private-key":                     "-----BEGIN RSA PRIVATE KEY-----\n" + text(64, "A") + "\n-----END RSA PRIVATE KEY-----",
		"pypi-upload-token":               "pypi-AgEIcHlwaS5vcmc" + text(50, "q"),
		"rubygems-api-token":              "rubygems_" + text(48, "a"),
		"sendgrid-api-token":              "SG." + text(66, "r"),
		"shopify-token":                   "shpat_" + text(32, "a"),
		"slack-token":                     "xoxb-" + text(10, "1") + "-" + text(10, "2") + "abc",
		"slack-app-token":                 "xapp-1-AB-1-ab",
		"stripe-access-token":             "sk_live_" + text(24, "s"),
		"hashicorp-tf-api-token":          text(14, "t") + ".atlasv1." + text(60, "u"),
		"vault-service-token":             "hvs." + text(90, "v"),
	} {
		d, err := newDetector("secrets")
		if err != nil {
			t.Fatal(err)
		}
		const before, after = "The value é is: ", " and no more."
		want := Span{len(before), len(before) + len(secret), kind}
		if found := d.find(before + secret + after); !slices.Contains(found, want) {
			t.Errorf("%s: found %v, want %v", kind, found, want)
		}
		if found := d.find(before + secret[:len(secret)/2] + after); kind != "private-key" && len(found) > 0 {
			t.Errorf("%s: half of it is found: %v", kind, found)
		}
	}
}

// A secret in its surroundings is found without them, and a key that was cut off to the end.
func TestSecretsInSurroundings(t *testing.T) {
	key := strings.Repeat("Ab1/", 10)
	for text, want := range map[string]string{
		`aws_secret_access_key = "` + key + `"`:                       `aws_secret_access_key = "[redacted: aws-secret-key]"`,
		"https://hooks.slack.com/services/" + strings.Repeat("A", 44): "https://hooks.slack.com/services/[redacted: slack-webhook-url]",
		"see postgres://ann:s3cret@db.example/x":                      "see postgres://ann:[redacted: url-password]@db.example/x",
		"-----BEGIN PRIVATE KEY-----\nMIIE":                           "[redacted: private-key]",
		"https://a.example:80/x@y":                                    "https://a.example:80/x@y",
	} {
		d, err := newDetector("secrets")
		if err != nil {
			t.Fatal(err)
		}
		if got := Redact([]string{text}, d.FindIn([]string{text})); got[0] != want {
			t.Errorf("%q becomes %q, want %q", text, got[0], want)
		}
	}
}

// Parts in several texts are replaced in all of them, and named in the first.
func TestRedactSeveralTexts(t *testing.T) {
	d, err := newDetector("ticket-[0-9]+")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ texts, want []string }{
		{[]string{"a Ticket-1 b ticket-22"}, []string{"a [redacted] b [redacted]"}},
		{[]string{"tick", "et-1 b"}, []string{"[redacted]", " b"}},
		{[]string{"tick", "", "et-", "1", " b"}, []string{"[redacted]", "", "[redacted]", "[redacted]", " b"}},
		{[]string{"ticket-1", "2 b"}, []string{"[redacted]", " b"}},
		{[]string{"none", ""}, []string{"none", ""}},
	} {
		if got := Redact(tt.texts, d.FindIn(tt.texts)); !slices.Equal(got, tt.want) {
			t.Errorf("%q becomes %q, want %q", tt.texts, got, tt.want)
		}
	}
}

// A token that continues in the next text is found, whichever letters the text before it ends with.
func TestTokenInTwoOfSeveralTexts(t *testing.T) {
	t.Parallel()
	d, err := newDetector("secrets")
	if err != nil {
		t.Fatal(err)
	}
	token := "ghp_" + strings.Repeat("aB3dE5", 6)
	for _, texts := range [][]string{
		{"a", token[:15], token[15:]},
		{"a", token[:15], token[15:] + " b", "c"},
		{token[:15], token[15:], "b"},
		{"a", "b " + token[:15], token[15:], "c"},
	} {
		got := strings.Join(Redact(texts, d.FindIn(texts)), "|")
		if strings.Contains(got, token[:15]) || strings.Contains(got, token[15:]) || strings.Count(got, "[redacted: github-token]") != 1 {
			t.Errorf("%q becomes %q", texts, got)
		}
	}
}

func TestDetectorsRefused(t *testing.T) {
	for _, text := range []string{"(", "a*", ""} {
		if _, err := newDetector(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
