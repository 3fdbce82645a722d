// Package check tests the files in deploy: Kubernetes manifests and the Helm
// chart decode strictly as their types and meet the restricted Pod Security
// Standard, the systemd unit verifies, the Dockerfile's steps run without an
// engine and make an image that starts, and every configuration in them is one
// that heldcall takes. It is a module of its own, so that the libraries of
// Kubernetes and Helm are no dependencies of heldcall.
package check
