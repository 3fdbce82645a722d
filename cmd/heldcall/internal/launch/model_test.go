package launch

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
)

// Finding P2: the address that the user has set for agents becomes the upstream, and the key of the environment goes
// nowhere else.
func TestAdopt(t *testing.T) {
	server := func(header string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set(header, "01A")
			}
			w.WriteHeader(http.StatusNotFound)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	model, heldcall := server(""), server("X-Heldcall-Turn")
	gone := httptest.NewServer(nil)
	gone.Close()
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("model = \"m\"\nopenai_base_url = \""+model+"/codex\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const openAI, anthropic = "https://api.openai.com/v1", "https://api.anthropic.com/v1"
	const chatGPT = "https://chatgpt.com/backend-api/codex"
	for name, tt := range map[string]struct {
		chatGPT             string // of the upstream at /v1; "": the default one
		environment         []string
		named               string // proxy.upstreams has this at /v1
		command             string
		openAI, anthropic   string // upstreams; "": the default one
		notes, withoutNotes string
		err                 []string
		listen              string
	}{
		"nothing":                     {withoutNotes: "heldcall"},
		"empty":                       {environment: []string{"OPENAI_BASE_URL=", "ANTHROPIC_BASE_URL= "}, withoutNotes: "heldcall"},
		"the default ones":            {environment: []string{"OPENAI_BASE_URL=https://api.openai.com/v1/", "ANTHROPIC_BASE_URL=https://API.anthropic.com"}, withoutNotes: "heldcall"},
		"the default ones, ports":     {environment: []string{"OPENAI_BASE_URL=https://api.openai.com:443/v1", "OPENAI_API_BASE=HTTPS://api.openai.com/v1", "ANTHROPIC_BASE_URL=https://api.anthropic.com:443/"}, withoutNotes: "heldcall"},
		"OpenAI":                      {environment: []string{"OPENAI_BASE_URL=" + model + "/v1"}, openAI: model + "/v1", notes: "heldcall: model: " + model + "/v1, from OPENAI_BASE_URL\n"},
		"OpenAI, old name":            {environment: []string{"OPENAI_API_BASE=" + model + "/x/"}, openAI: model + "/x", notes: "from OPENAI_API_BASE\n"},
		"OpenAI, twice":               {environment: []string{"OPENAI_API_BASE=" + model + "/v1/", "OPENAI_BASE_URL=" + model + "/v1"}, openAI: model + "/v1"},
		"nobody answers":              {environment: []string{"OPENAI_BASE_URL=" + gone.URL + "/v1"}, openAI: gone.URL + "/v1"},
		"Anthropic":                   {environment: []string{"ANTHROPIC_BASE_URL=" + model}, anthropic: model + "/v1", notes: "heldcall: model: " + model + "/v1, from ANTHROPIC_BASE_URL\n"},
		"Anthropic with /v1":          {environment: []string{"ANTHROPIC_BASE_URL=" + model + "/claude/v1/"}, anthropic: model + "/claude/v1"},
		"both":                        {environment: []string{"OPENAI_BASE_URL=" + model + "/o", "ANTHROPIC_BASE_URL=" + model + "/a"}, openAI: model + "/o", anthropic: model + "/a/v1"},
		"OpenAI at Anthropic":         {environment: []string{"OPENAI_BASE_URL=https://api.anthropic.com/v1"}, openAI: anthropic},
		"OpenAI at Anthropic, both":   {environment: []string{"OPENAI_BASE_URL=https://api.anthropic.com/v1", "ANTHROPIC_BASE_URL=" + model}, openAI: anthropic, anthropic: model + "/v1"},
		"Copilot":                     {environment: []string{"COPILOT_PROVIDER_BASE_URL=" + model + "/v1"}, openAI: model + "/v1"},
		"Copilot with Anthropic":      {environment: []string{"COPILOT_PROVIDER_BASE_URL=" + model, "COPILOT_PROVIDER_TYPE=anthropic"}, anthropic: model + "/v1"},
		"Codex":                       {chatGPT: model + "/codex", command: "codex", environment: []string{"CODEX_HOME=" + home}, openAI: model + "/codex", notes: "from openai_base_url of Codex's settings\n"},
		"Codex's settings, not Codex": {environment: []string{"CODEX_HOME=" + home}},

		"heldcall":                            {environment: []string{"OPENAI_BASE_URL=" + heldcall + "/v1"}, notes: "heldcall: model: " + openAI + "; OPENAI_BASE_URL is the address of a heldcall\n"},
		"heldcall, for Anthropic":             {environment: []string{"ANTHROPIC_BASE_URL=" + heldcall + "/anthropic"}, notes: "heldcall: model: " + anthropic + "; ANTHROPIC_BASE_URL is the address of a heldcall\n"},
		"heldcall and a model":                {environment: []string{"OPENAI_BASE_URL=" + heldcall + "/v1", "OPENAI_API_BASE=" + model}, openAI: model},
		"heldcall that has ended":             {environment: []string{"OPENAI_BASE_URL=" + strings.Replace(gone.URL, "127.0.0.1", "localhost", 1) + "/v1"}, listen: strings.TrimPrefix(gone.URL, "http://"), notes: "is the address of a heldcall\n"},
		"heldcall that has ended, everywhere": {environment: []string{"OPENAI_BASE_URL=" + gone.URL + "/v1"}, listen: strings.Replace(strings.TrimPrefix(gone.URL, "http://"), "127.0.0.1", "0.0.0.0", 1), notes: "is the address of a heldcall\n"},
		"heldcall that has ended, 0.0.0.0":    {environment: []string{"OPENAI_BASE_URL=" + strings.Replace(gone.URL, "127.0.0.1", "0.0.0.0", 1) + "/v1"}, listen: strings.TrimPrefix(gone.URL, "http://"), notes: "is the address of a heldcall\n"},
		"heldcall that has ended, machine":    {environment: []string{"OPENAI_BASE_URL=" + strings.Replace(gone.URL, "127.0.0.1", machine, 1) + "/v1"}, listen: strings.Replace(strings.TrimPrefix(gone.URL, "http://"), "127.0.0.1", "0.0.0.0", 1), notes: "is the address of a heldcall\n"},
		"this machine, loopback only":         {environment: []string{"OPENAI_BASE_URL=http://" + machine + ":" + gone.URL[strings.LastIndex(gone.URL, ":")+1:]}, listen: strings.TrimPrefix(gone.URL, "http://"), openAI: strings.ToLower("http://" + machine + ":" + gone.URL[strings.LastIndex(gone.URL, ":")+1:])},
		"a model at heldcall's address":       {environment: []string{"OPENAI_BASE_URL=" + model + "/v1"}, listen: strings.TrimPrefix(model, "http://"), openAI: model + "/v1"},
		"within another run": {
			environment: []string{"OPENAI_BASE_URL=" + heldcall + "/v1", "OPENAI_API_BASE=" + heldcall + "/v1", "ANTHROPIC_BASE_URL=" + heldcall + "/anthropic", "HELDCALL_OPENAI_URL=" + model + "/v1", "HELDCALL_ANTHROPIC_URL=" + model + "/a"},
			openAI:      model + "/v1", anthropic: model + "/a",
		},
		"within another run, set again": {environment: []string{"OPENAI_BASE_URL=" + model + "/v1", "OPENAI_API_BASE=" + heldcall + "/v1", "HELDCALL_OPENAI_URL=" + gone.URL}, openAI: model + "/v1"},
		"no longer within another run":  {environment: []string{"HELDCALL_OPENAI_URL=" + model + "/v1"}, withoutNotes: "heldcall"},

		"different":         {environment: []string{"OPENAI_BASE_URL=" + model + "/v1", "OPENAI_API_BASE=" + gone.URL + "/v1"}, err: []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}},
		"Copilot elsewhere": {environment: []string{"OPENAI_BASE_URL=" + model + "/v1", "COPILOT_PROVIDER_BASE_URL=" + gone.URL + "/v1"}, err: []string{"OPENAI_BASE_URL", "COPILOT_PROVIDER_BASE_URL"}},
		"a password":        {environment: []string{"OPENAI_BASE_URL=http://ann:sesame@a.example/v1"}, err: []string{"OPENAI_BASE_URL holds a user or password"}},
		"a query":           {environment: []string{"ANTHROPIC_BASE_URL=http://a.example/?key=sesame"}, err: []string{"ANTHROPIC_BASE_URL holds a query"}},
		"no URL":            {environment: []string{"OPENAI_API_BASE=sesame.example:80/v1"}, err: []string{"OPENAI_API_BASE is not an http or https URL"}},
		"another scheme":    {environment: []string{"OPENAI_API_BASE=ftp://sesame.example/v1"}, err: []string{"OPENAI_API_BASE is not an http or https URL"}},

		"named":              {named: "http://named.example/v1", environment: []string{"OPENAI_BASE_URL=" + model + "/v1"}, openAI: "http://named.example/v1", notes: "heldcall: model: http://named.example/v1, from the configuration; OPENAI_BASE_URL is another and is not used\n"},
		"named, the same":    {named: model + "/v1", environment: []string{"OPENAI_BASE_URL=" + model + "/v1/"}, openAI: model + "/v1", withoutNotes: "heldcall"},
		"named, heldcall":    {named: model + "/v1", environment: []string{"OPENAI_BASE_URL=" + heldcall + "/v1"}, openAI: model + "/v1", withoutNotes: "heldcall"},
		"named, no password": {named: model + "/v1", environment: []string{"OPENAI_BASE_URL=http://ann:sesame@a.example/v1"}, openAI: model + "/v1", withoutNotes: "sesame"},
	} {
		lookup := lookupIn(append(tt.environment, "OPENAI_API_KEY=sk-1", "ANTHROPIC_API_KEY=sk-ant-2"))
		p := app.DefaultConfig(lookup).Proxy
		if tt.named != "" {
			p.UpstreamsNamed, p.Upstreams[0].URL = true, tt.named
		}
		if tt.listen != "" {
			p.Listen = tt.listen
		}
		before := p.Upstreams[0].URL
		given := p.Upstreams
		command := []string{"agent"}
		if tt.command != "" {
			command[0] = tt.command
		}
		notes, err := Adopt(t.Context(), &p, command, lookup)
		if given[0].URL != before {
			t.Errorf("%s: the upstreams of another configuration have changed", name)
		}
		if (err != nil) != (tt.err != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range tt.err {
			if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("%s: no %q in %v", name, text, err)
			}
		}
		if err != nil {
			continue
		}
		if !strings.Contains(notes, tt.notes) || (tt.withoutNotes != "" && strings.Contains(notes, tt.withoutNotes)) {
			t.Errorf("%s: the notes are %q", name, notes)
		}
		type upstream struct{ prefix, url, key string }
		var got []upstream
		for _, u := range p.Upstreams {
			got = append(got, upstream{u.Prefix, u.URL, string(u.APIKey)})
		}
		o, a := cmp.Or(tt.openAI, openAI), cmp.Or(tt.anthropic, anthropic)
		want := []upstream{{"/v1", o, "sk-1"}, {"/anthropic/v1", a, "sk-ant-2"}, {"/anthropic", a, "sk-ant-2"}}
		if got, want := p.Upstreams[0].ChatGPT, cmp.Or(tt.chatGPT, chatGPT); got != want || p.Upstreams[1].ChatGPT+p.Upstreams[2].ChatGPT != "" {
			t.Errorf("%s: logins for ChatGPT go to %s, want %s", name, got, want)
		}
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(upstream{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
