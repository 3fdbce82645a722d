// Package faults lets replicas of heldcall, nodes of NATS and disks fail while agents wait
// for people, and checks that nothing is lost. Its tests are run by make faults, with the
// build tag faults: three replicas of the built program on a cluster of three nodes, a
// scripted model, agents with official SDKs that reach the replicas through a balancer, and
// reviewers that decide over REST and NATS.
//
// One seed is one plan: which conversations there are, what reviewers decide and when, which
// faults happen at which step. HELDCALL_SEEDS is the number of plans (40) or a range (13-24), HELDCALL_SEED repeats
// the plans of some seeds, such as 29 or 29,29,292. The plan is the same each time; the scheduling is not.
package faults
