package check_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// image is the result of a Dockerfile's steps, run without an engine: a folder for each
// stage, and the start command of the last one.
type image struct {
	stages     map[string]string // folder of each stage, by name
	root       string            // of the last stage
	user       string
	env        []string
	entrypoint []string
	cmd        []string
	health     []string
}

// The Dockerfile's steps, run in scratch folders, make an image that starts as its user,
// in a root with nothing else in it, and whose health check passes.
func TestDockerfile(t *testing.T) {
	buildsTheProgram(t)
	img := build(t, "../docker/Dockerfile", "../..")
	if img.user != "65532:65532" {
		t.Errorf("it runs as %q", img.user)
	}
	if _, err := os.Stat(filepath.Join(img.root, "bin/sh")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a shell: %v", err)
	}
	checkConfig(t, filepath.Join(img.root, "etc/heldcall/heldcall.yaml"))
	proxy, console := freeAddress(t), freeAddress(t)
	config := fmt.Sprintf("proxy: {listen: %q}\nconsole: {listen: %q}\nnats: {listen: \"\", dir: /data}\naudit: {dir: /audit}\n"+
		"notify: {webhooks: [{url: \"https://ci.example/\", secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]}], routes: [{to: [webhook], hours: \"08:00-18:00 Europe/Berlin\"}]}\n",
		proxy, console)
	if err := os.WriteFile(filepath.Join(img.root, "etc/heldcall/test.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	serve := img.command(ctx, append(img.entrypoint, img.cmd...))
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	var log bytes.Buffer
	serve.Stdout, serve.Stderr = &log, &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		out, err := img.command(ctx, img.health).CombinedOutput()
		if err == nil && strings.TrimSpace(string(out)) == "ready" {
			break
		}
		if ctx.Err() != nil {
			_ = serve.Wait()
			t.Fatalf("the health check: %v\n%s\n%s", err, out, &log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	cancel()
	if err := serve.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("it did not stop in order: %v\n%s", err, &log)
	}
}

// command is a command as an engine starts it: with the image as its root, and as
// its user. That takes root.
func (img *image) command(ctx context.Context, args []string) *exec.Cmd {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Path, command.Dir = args[0], "/"
	command.Err = nil // it is looked for in the image
	command.Env = append(append([]string{}, img.env...), "HELDCALL_CONFIG=/etc/heldcall/test.yaml")
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: img.root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	return command
}

// build runs the steps of a Dockerfile. In place of a base image it uses
// this machine's Go and certificates.
func build(t *testing.T, file, folder string) *image {
	t.Helper()
	content, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	parsed, err := parser.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	img := &image{stages: map[string]string{}}
	for _, stage := range stages {
		img.root = t.TempDir()
		if err := os.Chmod(img.root, 0o755); err != nil {
			t.Fatal(err)
		}
		img.stages[stage.Name] = img.root
		if stage.BaseName != "scratch" {
			if !strings.HasPrefix(stage.BaseName, "golang:") {
				t.Fatalf("the test has no replacement for %s", stage.BaseName)
			}
			copyTo(t, "/etc/ssl/certs/ca-certificates.crt", filepath.Join(img.root, "etc/ssl/certs/ca-certificates.crt"))
		}
		s := &stageRun{image: img, folder: folder, dir: "/"}
		for _, command := range stage.Commands {
			s.step(t, command)
		}
	}
	return img
}

// stageRun is a stage while its steps run.
type stageRun struct {
	image  *image
	folder string // the source
	dir    string // the working directory, in the stage
}

func (s *stageRun) step(t *testing.T, command instructions.Command) {
	t.Helper()
	switch c := command.(type) {
	case *instructions.WorkdirCommand:
		s.dir = c.Path
		mkdir(t, s.inStage(c.Path))
	case *instructions.CopyCommand:
		s.copy(t, c)
	case *instructions.RunCommand:
		s.run(t, strings.Join(c.CmdLine, " "))
	case *instructions.EnvCommand:
		for _, pair := range c.Env {
			s.image.env = append(s.image.env, pair.Key+"="+pair.Value)
		}
	case *instructions.UserCommand:
		s.image.user = c.User
	case *instructions.EntrypointCommand:
		s.image.entrypoint = c.CmdLine
	case *instructions.CmdCommand:
		s.image.cmd = c.CmdLine
	case *instructions.HealthCheckCommand:
		if c.Health.Test[0] != "CMD" {
			t.Fatalf("the health check needs a shell: %v", c.Health.Test)
		}
		s.image.health = c.Health.Test[1:]
	case *instructions.ArgCommand, *instructions.ExposeCommand, *instructions.VolumeCommand:
	default:
		t.Fatalf("the test does not know %s", command.Name())
	}
}

// inStage returns the path on this machine of a path in the stage.
func (s *stageRun) inStage(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, path)
	}
	return filepath.Join(s.image.root, path)
}

func (s *stageRun) copy(t *testing.T, c *instructions.CopyCommand) {
	t.Helper()
	from := s.folder
	if c.From != "" {
		from = s.image.stages[c.From]
	}
	for _, source := range c.SourcePaths {
		found, err := filepath.Glob(filepath.Join(from, source))
		if err != nil || len(found) == 0 {
			t.Fatalf("COPY %s: there is none: %v", source, err)
		}
		for _, one := range found {
			to := s.inStage(c.DestPath)
			if strings.HasSuffix(c.DestPath, "/") {
				to = filepath.Join(to, filepath.Base(one))
			}
			copyTo(t, one, to)
			if c.Chown == "65532:65532" {
				if err := os.Chown(to, 65532, 65532); err != nil {
					t.Fatalf("%v: run this test as root", err)
				}
			}
		}
	}
}

// run runs a shell command of the stage that builds. It sees this machine's root,
// so the one absolute folder that it writes to is put into the stage.
func (s *stageRun) run(t *testing.T, line string) {
	t.Helper()
	command := exec.Command("sh", "-c", strings.ReplaceAll(line, " /out", " "+s.inStage("/out")))
	command.Dir = s.inStage(".")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("RUN %s: %v\n%s", line, err, out)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// copyTo copies a file, or a folder as .dockerignore lets an engine see it.
func copyTo(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	mkdir(t, filepath.Dir(to))
	args := []string{"cp", "-p", from, to}
	if info.IsDir() {
		mkdir(t, to)
		args = []string{"sh", "-c", `tar -C "$0" --exclude-from=../../.dockerignore -cf - . | tar -C "$1" -xf -`, from, to}
	}
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("copy %s to %s: %v\n%s", from, to, err, out)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
