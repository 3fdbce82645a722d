package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// printHelp prints a command's help with its examples, and that of its default command when no other is
// named: `heldcall requests` takes the flags of its list.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	if err := printNode(options, ctx, node); err != nil || node == nil || node.DefaultCmd == nil {
		return err
	}
	meant, err := kong.Trace(ctx.Kong, []string{node.Name, node.DefaultCmd.Name})
	if err != nil {
		return err
	}
	fmt.Fprintln(ctx.Stdout)
	return printNode(options, meant, meant.Selected())
}

// printNode prints the help of a command, or of the program. The flags of the connection are in the program's only.
func printNode(options kong.HelpOptions, ctx *kong.Context, node *kong.Node) error {
	if node == nil {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	for above := node; above != nil; above = above.Parent {
		above.Group = nil // it is for the program's list
	}
	connects := false
	for _, flag := range node.Flags {
		if flag.Group != nil && flag.Group.Key == "connection" {
			flag.Hidden, connects = true, true
		}
	}
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	if connects {
		fmt.Fprintln(ctx.Stdout, "\nand --config, --console, --token, --token-file: see heldcall --help.")
	}
	if shown := examples[node.Path()]; shown != "" {
		fmt.Fprintf(ctx.Stdout, "\nExamples:\n  %s\n", strings.ReplaceAll(shown, "\n", "\n  "))
	}
	return nil
}

// examples are two command lines of each command.
var examples = map[string]string{
	"hook install":       "heldcall hook install claude-code --user\nheldcall hook install codex --user --url http://127.0.0.1:4141 --key-file key",
	"hook status":        "heldcall hook status\nheldcall hook status codex",
	"hook remove":        "heldcall hook remove claude-code --user\nheldcall hook remove cursor --user --yes",
	"hook claude-code":   "heldcall hook claude-code --running\nheldcall hook claude-code --url http://127.0.0.1:4141 --key-file key",
	"hook codex":         "heldcall hook codex --running\nheldcall hook codex --url http://127.0.0.1:4141 --key-file key",
	"hook copilot":       "heldcall hook copilot --running\nheldcall hook copilot --url http://127.0.0.1:4141 --key-file key",
	"hook cursor":        "heldcall hook cursor --running\nheldcall hook cursor --url http://127.0.0.1:4141 --key-file key",
	"hook gemini":        "heldcall hook gemini --running\nheldcall hook gemini --url http://127.0.0.1:4141 --key-file key",
	"serve":              "heldcall serve\nheldcall serve --config heldcall.yaml",
	"run":                "heldcall run -- claude\nheldcall run --separate -- python agent.py",
	"demo":               "heldcall demo\nheldcall demo --auto",
	"watch":              "heldcall watch\nheldcall watch --console https://heldcall.example",
	"open":               "heldcall open\nheldcall open --console https://heldcall.example",
	"requests list":      "heldcall requests\nheldcall requests --all --search 'git push'",
	"requests show":      "heldcall requests show 4XK9QZ\nheldcall requests show 4XK9QZ -o json",
	"show":               "heldcall show\nheldcall show 4XK9QZ",
	"approve":            "heldcall approve 4XK9QZ\nheldcall approve 4XK9QZ --always --pattern 'bash(npm run *)'",
	"deny":               "heldcall deny 4XK9QZ --note 'use the test database'\nheldcall deny --run RUN --yes",
	"answer":             "heldcall answer 4XK9QZ\nheldcall answer 4XK9QZ --text 'the staging cluster'",
	"modify":             "heldcall modify 4XK9QZ\nheldcall modify 4XK9QZ --args '{\"command\":\"ls\"}'",
	"runs list":          "heldcall runs\nheldcall runs -o json",
	"runs show":          "heldcall runs show RUN\nheldcall runs show RUN -o json",
	"runs pause":         "heldcall runs pause RUN\nheldcall runs pause --user ann",
	"runs resume":        "heldcall runs resume RUN\nheldcall runs resume --user ann",
	"runs add-folder":    "heldcall runs add-folder RUN ../other\nheldcall runs add-folder RUN /srv/other -o json",
	"runs abort":         "heldcall runs abort RUN\nheldcall runs abort --user ann",
	"stop":               "heldcall stop --user ann\nheldcall stop --tenant globex",
	"grants list":        "heldcall grants\nheldcall grants -o json",
	"grants add":         "heldcall grants add 'bash(npm test)' --agent build\nheldcall grants add 'bash(npm test)' --user ann --expires 7d",
	"grants preview":     "heldcall grants preview 'bash(npm test)' --agent build\nheldcall grants preview 'bash(npm test)' --user ann",
	"grants revoke":      "heldcall grants revoke 4XK9QZ\nheldcall grants revoke 4XK9QZ 7MWC2D",
	"secrets list":       "heldcall secrets\nheldcall secrets -o json",
	"secrets set":        "heldcall secrets set GITHUB_TOKEN --agent build\nheldcall secrets set GITHUB_TOKEN --user ann",
	"secrets delete":     "heldcall secrets delete GITHUB_TOKEN --agent build\nheldcall secrets delete GITHUB_TOKEN --user ann",
	"delegations list":   "heldcall delegations\nheldcall delegations -o json",
	"delegations create": "heldcall delegations create ben --until 48h\nheldcall delegations create ben --until 2026-12-24 --note holiday",
	"delegations revoke": "heldcall delegations revoke 4XK9QZ\nheldcall delegations revoke 7MWC2D",
	"audit list":         "heldcall audit\nheldcall audit -o json",
	"audit show":         "heldcall audit show 120\nheldcall audit show 120 -o json",
	"audit verify":       "heldcall audit verify\nheldcall audit verify --file audit.jsonl",
	"audit export":       "heldcall audit export audit.jsonl\nheldcall audit export --checkpoints checkpoints.jsonl",
	"audit replay":       "heldcall audit replay RUN\nheldcall audit replay RUN --file audit.jsonl",
	"audit key":          "heldcall audit key\nheldcall audit key --config heldcall.yaml",
	"policy check":       "heldcall policy check\nheldcall policy check team.yaml",
	"policy explain":     "heldcall policy explain --tool bash --args '{\"command\":\"git push\"}'\nheldcall policy explain --workdir . --tool Read --args '{\"file_path\":\".env\"}'",
	"policy test":        "heldcall policy test cases.yaml\nheldcall policy test --policy policy.yaml cases.yaml",
	"policy replay":      "heldcall policy replay --policy policy.yaml\nheldcall policy replay --policy policy.yaml --since 7d",
	"policy learn":       "heldcall policy learn\nheldcall policy learn --since 30d",
	"policy init":        "heldcall policy init --workspace .\nheldcall policy init team.yaml --workspace . --checks ask",
	"policy show":        "heldcall policy show\nheldcall policy show starter/1",
	"policy diff":        "heldcall policy diff\nheldcall policy diff team.yaml",
	"policy import":      "heldcall policy import --from claude-code .claude/settings.json\nheldcall policy import --from claude-code ~/.claude/settings.json",
	"config check":       "heldcall config check\nheldcall config check heldcall.yaml",
	"nats permissions":   "heldcall nats permissions\nheldcall nats permissions --config heldcall.yaml",
	"token create":       "heldcall token create ann\nheldcall token create ann --role admin",
	"completion":         "heldcall completion bash\nheldcall completion zsh",
	"health":             "heldcall health\nheldcall health --console https://heldcall.example",
	"doctor":             "heldcall doctor\nheldcall doctor --config heldcall.yaml",
	"version":            "heldcall version\nheldcall version -o json",
}
