package check_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The packages of a release, installed as people install them: into a folder where the
// installer can, and never from the network.
func testPackages(t *testing.T, release, version string) {
	for name, install := range map[string]func(t *testing.T, release string) (program string){
		"deb": installDeb, "rpm": installRPM, "npm": installNPM, "pip": installWheel,
	} {
		t.Run(name, func(t *testing.T) {
			program := install(t, release)
			out, err := exec.Command(program, "version").CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "heldcall "+version+" ") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	t.Run("Homebrew", func(t *testing.T) { checkFormula(t, release) })
}

// installDeb has dpkg install the package into a folder, remove it and purge it.
func installDeb(t *testing.T, release string) string {
	root := t.TempDir()
	dpkg := func(args ...string) {
		t.Helper()
		run(t, "dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--log=/dev/null"}, args...)...)
	}
	for _, folder := range []string{"info", "updates", "triggers"} {
		mkdir(t, filepath.Join(root, "var/lib/dpkg", folder))
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg("--install", one(t, release, "*.deb"))
	dpkg("--verify", "heldcall")
	checkService(t, root)
	t.Cleanup(func() {
		dpkg("--remove", "heldcall")
		checkGone(t, filepath.Join(root, "usr/bin/heldcall"))
		if _, err := os.Stat(filepath.Join(root, "etc/heldcall/heldcall.yaml")); err != nil {
			t.Errorf("the removal takes the configuration: %v", err)
		}
		dpkg("--purge", "heldcall")
		checkGone(t, filepath.Join(root, "etc/heldcall"))
	})
	return filepath.Join(root, "usr/bin/heldcall")
}

// installRPM has rpm check and unpack the package.
func installRPM(t *testing.T, release string) string {
	root, file := t.TempDir(), one(t, release, "*.rpm")
	run(t, "rpm", "--checksig", "--nosignature", file)
	if configs := run(t, "rpm", "--query", "--package", "--configfiles", file); configs != "/etc/heldcall/environment\n/etc/heldcall/heldcall.yaml\n" {
		t.Errorf("the files that an upgrade keeps are %q", configs)
	}
	run(t, "sh", "-c", `rpm2cpio "$0" | cpio --quiet --no-absolute-filenames -idm -D "$1"`, file, root)
	checkService(t, root)
	return filepath.Join(root, "usr/bin/heldcall")
}

// checkService checks the unit and the configuration that a package has.
func checkService(t *testing.T, root string) {
	t.Helper()
	for installed, source := range map[string]string{
		"usr/lib/systemd/system/heldcall.service": "../systemd/heldcall.service",
		"usr/lib/systemd/system/heldcall.socket":  "../systemd/heldcall.socket",
		"etc/heldcall/heldcall.yaml":              "../systemd/heldcall.yaml",
		"etc/heldcall/environment":                "../systemd/environment",
		"usr/share/doc/heldcall/copyright":        "../../LICENSE",
	} {
		if string(read(t, filepath.Join(root, installed))) != string(read(t, source)) {
			t.Errorf("%s is not %s", installed, source)
		}
	}
	info, err := os.Stat(filepath.Join(root, "etc/heldcall/environment"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the keys: %v, %v", info.Mode(), err)
	}
}

// installNPM has npm install the packages from a registry on the loopback.
func installNPM(t *testing.T, release string) string {
	project := t.TempDir()
	registry := httptest.NewServer(npmRegistry(t, release))
	t.Cleanup(registry.Close)
	run(t, "npm", "install", "--prefix", project, "--registry", registry.URL, "--cache", t.TempDir(), "--ignore-scripts=false", "--no-audit", "--no-fund", "heldcall@latest")
	return filepath.Join(project, "node_modules/.bin/heldcall")
}

// npmRegistry serves the packages in a folder as npm's registry does.
func npmRegistry(t *testing.T, release string) http.Handler {
	t.Helper()
	packages := make(map[string][]byte) // the documents of the registry, by package
	files, err := filepath.Glob(filepath.Join(release, "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var manifest map[string]any
		text := run(t, "tar", "-xzOf", file, "package/package.json")
		if err := json.Unmarshal([]byte(text), &manifest); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if manifest["scripts"] != nil {
			t.Errorf("%s runs scripts: %v", file, manifest["scripts"])
		}
		version := manifest["version"].(string)
		manifest["dist"] = map[string]string{"tarball": "http://registry/" + filepath.Base(file)}
		document, err := json.Marshal(map[string]any{
			"name": manifest["name"], "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: manifest},
		})
		if err != nil {
			t.Fatal(err)
		}
		packages["/"+manifest["name"].(string)] = document
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if document, ok := packages[r.URL.Path]; ok {
			fmt.Fprint(w, strings.ReplaceAll(string(document), "http://registry/", "http://"+r.Host+"/"))
			return
		}
		http.ServeFile(w, r, filepath.Join(release, path.Base(r.URL.Path)))
	})
}

// installWheel has pip install the package into an environment of its own.
func installWheel(t *testing.T, release string) string {
	environment := t.TempDir()
	run(t, "python3", "-m", "venv", environment)
	pip := filepath.Join(environment, "bin/pip")
	run(t, pip, "install", "--no-index", "--pre", "--find-links", release, "heldcall")
	run(t, pip, "check")
	if files := run(t, pip, "show", "--files", "heldcall"); !strings.Contains(files, "bin/heldcall\n") || !strings.Contains(files, "licenses/LICENSE") {
		t.Errorf("pip knows other files of it:\n%s", files)
	}
	return filepath.Join(environment, "bin/heldcall")
}

// checkFormula has Ruby judge the syntax of the formula for Homebrew, and compares its
// checksums with those of the release.
func checkFormula(t *testing.T, release string) {
	formula := filepath.Join(release, "heldcall.rb")
	run(t, "ruby", "-wc", formula)
	text, sums, found := string(read(t, formula)), string(read(t, filepath.Join(release, "SHA256SUMS"))), 0
	for line := range strings.Lines(sums) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if strings.HasSuffix(file, ".tar.gz") {
			found++
			if !strings.Contains(text, "/"+file+"\"\n      sha256 \""+sum+"\"\n") {
				t.Errorf("it does not name %s", line)
			}
		}
	}
	if found == 0 || strings.Count(text, "sha256") != found {
		t.Errorf("%d archives in\n%s", found, text)
	}
}

// one is the only file that matches.
func one(t *testing.T, folder, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files[0]
}

// run runs a command that must succeed, and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func checkGone(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s stays: %v", file, err)
	}
}
