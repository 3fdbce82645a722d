package policy

import (
	"testing"

	"github.com/heldcall/heldcall/approvals/policy/starter"
	"github.com/heldcall/heldcall/approvals/policy/workspace"
)

// TestGivenPrograms: programs of a policy have classes like those of the table, and may wrap others.
func TestGivenPrograms(t *testing.T) {
	src, err := starter.Policy(starter.Options{Workspace: []string{"/work/app"}})
	if err != nil {
		t.Fatal(err)
	}
	p := mustParse(t, string(src)+`
programs:
  tk:
    long: json
    commands:
      list: {class: read, paths: none, long: json status, values: s}
      show: {class: read, paths: none}
      export: {class: read}
      dep: {commands: {tree: {class: read, paths: none}, remove: {class: destroy, paths: none}}}
  lintall: {class: check, flags: v}
  mygrep: {class: read, skip: 1}
  rtk: {wraps: true, flags: v}
`)
	p = p.In(p.Workspace().Of(workspace.Agent{Folder: "/work/app"}))
	for want, commands := range map[Action][]string{
		Allow: {
			"tk list", "tk list --json", "tk list --status open", "tk --json list", "tk show tk-5", "tk export src/a", "tk dep tree", "lintall", "lintall -v src", "mygrep /x/ src/a",
			"rtk git status", "rtk go test ./...", "rtk -v ls src", "tk list | head -5", "cd src && tk show a",
		},
		Ask: {
			"tk", "tk close 5", "tk list --db /tmp/x", "tk export /etc/passwd", "tk dep remove x", "tk dep", "tk show x; evil", "tk show $(evil)", "/tmp/tk list", "lintall --config /tmp/x", "lintall /tmp/x", "lintall ../x",
			"mygrep x /etc/passwd", "rtk git push", "rtk rm -rf src", "rtk", "rtk -x git status", "rtk evil", "rtk sh -c evil", "rtk cat .env", "/tmp/rtk git status", "rtk cat /etc/passwd", "sudo rtk ls", "rtk rtk evil", "rtk $X", "rtk test rm x", "rtk test evil", "rtk -v test sh -c evil", "rtk rtk test evil", "rtk time evil", "timeout 5 rtk test evil", "rtk command evil",
		},
	} {
		for _, command := range commands {
			if got := judgedBash(t, p, command); got != want {
				t.Errorf("%q: %s, want %s", command, got, want)
			}
		}
	}
	for src, want := range map[string]string{
		"programs: {bd: {class: harmless}}\n":             `dir/policy.yaml:1: programs.bd.class`,
		"programs: {bd: {paths: some}}\n":                 `dir/policy.yaml:1: programs.bd.paths`,
		"programs: {bd: {commands: {a: {wraps: maybe}}}}": `dir/policy.yaml:1: programs.bd.commands.a.wraps`,
	} {
		if _, err := Parse("dir/policy.yaml", []byte(src)); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
}
