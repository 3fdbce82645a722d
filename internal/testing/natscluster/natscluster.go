//go:build unix

// Package natscluster runs a cluster of real nats-server processes on loopback for tests,
// and lets its nodes fail: killed, stopped, or cut off from the network.
//
// Every connection of a node, of clients and of the other nodes, passes a link: a TCP proxy
// in the test process. A cut keeps the connections open and transports nothing, as a
// network does that loses every packet. No root is needed.
package natscluster

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// patience bounds every wait. It is generous: nothing is timed with it.
const patience = 2 * time.Minute

// Cluster is a number of NATS servers with JetStream, each with a folder of its own. Its
// methods are safe for concurrent use; they report errors to the test.
type Cluster struct {
	t     testing.TB
	nodes []*node
}

// node is one server.
type node struct {
	name    string
	config  string // its file
	log     string // its file
	monitor string // host:port of its HTTP API, which no cut concerns
	clients *link
	routes  []*link // those of other nodes to it, and of it to other nodes

	mu      sync.Mutex
	process *exec.Cmd // nil while it does not run
	exited  chan struct{}
}

// New prepares a cluster of n nodes. None runs; [Cluster.Restart] starts them.
func New(t testing.TB, n int) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	free, err := fakemodel.FreeAddresses(3 * n)
	if err != nil {
		t.Fatal(err)
	}
	client, route, monitor := free[:n], free[n:2*n], free[2*n:]
	dir := t.TempDir()
	routes := make([][]string, n) // of each node to the others
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		c.nodes = append(c.nodes, &node{
			name: name, config: filepath.Join(dir, name+".conf"), log: filepath.Join(dir, name+".log"),
			monitor: monitor[i], clients: newLink(t, client[i]),
		})
	}
	for from, a := range c.nodes {
		for to, b := range c.nodes {
			if from != to {
				l := newLink(t, route[to])
				a.routes, b.routes = append(a.routes, l), append(b.routes, l)
				routes[from] = append(routes[from], "nats://"+l.address())
			}
		}
	}
	for i, node := range c.nodes {
		// Nodes learn the addresses of others by gossip. They must not find a way around the
		// links, so the advertised route is a port without a listener.
		text := fmt.Sprintf(`server_name: %s
listen: %q
http: %q
log_file: %q
client_advertise: %q
jetstream { store_dir: %q }
cluster { name: test, listen: %q, advertise: "127.0.0.1:1", routes: [%s] }
`, node.name, client[i], monitor[i], node.log, node.clients.address(), filepath.Join(dir, node.name), route[i], strings.Join(routes[i], ", "))
		if err := os.WriteFile(node.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(c.end)
	return c
}

// Start starts a cluster of n nodes, and returns when it accepts streams with n copies.
func Start(t testing.TB, n int) *Cluster {
	t.Helper()
	c := New(t, n)
	for i := range n {
		c.Restart(i)
	}
	c.Await()
	return c
}

// end kills all nodes. Their folders are those of the test.
func (c *Cluster) end() {
	for i, node := range c.nodes {
		c.Kill(i)
		if text, err := os.ReadFile(node.log); err == nil && c.t.Failed() {
			c.t.Logf("the log of %s:\n%s", node.name, text)
		}
	}
}

// URLs returns the URLs of all nodes, separated by commas, as clients use them.
func (c *Cluster) URLs() string {
	var urls []string
	for i := range c.nodes {
		urls = append(urls, c.URL(i))
	}
	return strings.Join(urls, ",")
}

// URL returns the URL of a node, as clients use it.
func (c *Cluster) URL(i int) string { return "nats://" + c.nodes[i].clients.address() }

// PID returns the process id of a node, 0 while it does not run.
func (c *Cluster) PID(i int) int {
	node := c.nodes[i]
	node.mu.Lock()
	defer node.mu.Unlock()
	if node.process == nil {
		return 0
	}
	return node.process.Process.Pid
}

// Kill ends a node by SIGKILL, and returns when its process has ended. Its folder stays.
func (c *Cluster) Kill(i int) { c.stopNode(i, syscall.SIGKILL) }

// Restart starts a node on its folder. One that runs is stopped by SIGTERM before. The node
// may not be ready yet: see [Cluster.Await].
func (c *Cluster) Restart(i int) {
	c.stopNode(i, syscall.SIGTERM)
	program, err := program()
	if err != nil {
		c.t.Error(err)
		return
	}
	node := c.nodes[i]
	node.mu.Lock()
	defer node.mu.Unlock()
	process := exec.Command(program, "-c", node.config)
	process.Stderr = os.Stderr
	endWithParent(process)
	if err := process.Start(); err != nil {
		c.t.Errorf("start %s: %v", node.name, err)
		return
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = process.Wait()
	}()
	node.process, node.exited = process, exited
}

// Stop stops the process of a node by SIGSTOP: its connections stay and it does nothing.
func (c *Cluster) Stop(i int) { c.signal(i, syscall.SIGSTOP) }

// Cont lets a stopped process continue.
func (c *Cluster) Cont(i int) { c.signal(i, syscall.SIGCONT) }

// Cut cuts a node off from all clients and from the other nodes.
func (c *Cluster) Cut(i int) {
	c.nodes[i].clients.cut()
	c.CutRoutes(i)
}

// CutRoutes cuts a node off from the other nodes. Clients still reach it.
func (c *Cluster) CutRoutes(i int) {
	for _, l := range c.nodes[i].routes {
		l.cut()
	}
}

// Heal ends the cut of a node. Bytes that were sent meanwhile are delivered. Between two
// nodes that were both cut, the first Heal restores the network.
func (c *Cluster) Heal(i int) {
	c.nodes[i].clients.heal()
	for _, l := range c.nodes[i].routes {
		l.heal()
	}
}

// Healthy returns the problem of a node: no contact with a leader, streams that are not
// current. Nil: none.
func (c *Cluster) Healthy(i int) error {
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + c.nodes[i].monitor + "/healthz")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", c.nodes[i].name, answer.Status)
	}
	return nil
}

// Await returns when all nodes that run are healthy: their streams have all that was
// written.
func (c *Cluster) Await() {
	c.t.Helper()
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		var err error
		for i := range c.nodes {
			if c.PID(i) != 0 && err == nil {
				err = c.Healthy(i)
			}
		}
		if err == nil {
			return
		}
		if time.Since(start) > patience || c.anyCrashed() {
			c.t.Errorf("the cluster is not healthy: %v", err)
			return
		}
	}
}

// anyCrashed reports whether a node has ended by itself.
func (c *Cluster) anyCrashed() bool {
	for _, node := range c.nodes {
		node.mu.Lock()
		process, exited := node.process, node.exited
		node.mu.Unlock()
		if process == nil {
			continue
		}
		select {
		case <-exited:
			c.t.Errorf("%s has ended: %s", node.name, process.ProcessState)
			return true
		default:
		}
	}
	return false
}

func (c *Cluster) signal(i int, s syscall.Signal) {
	if pid := c.PID(i); pid == 0 {
		c.t.Errorf("%s does not run", c.nodes[i].name)
	} else if err := syscall.Kill(pid, s); err != nil {
		c.t.Errorf("%s: signal %s: %v", c.nodes[i].name, s, err)
	}
}

// stopNode sends a signal to the process of a node, if it runs, and waits for its end.
func (c *Cluster) stopNode(i int, s syscall.Signal) {
	node := c.nodes[i]
	node.mu.Lock()
	defer node.mu.Unlock()
	if node.process == nil {
		return
	}
	_ = node.process.Process.Signal(s) // fails if it has ended
	select {
	case <-node.exited:
	case <-time.After(patience):
		c.t.Errorf("%s ignores %s", node.name, s)
		_ = node.process.Process.Kill()
		<-node.exited
	}
	node.process = nil
}
