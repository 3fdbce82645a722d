//go:build !linux

package main

import (
	"errors"
	"time"
)

var errLinuxOnly = errors.New("the benchmark reads CPU time and memory of processes the Linux way only")

func cpuTime(int) (time.Duration, error)  { return 0, errLinuxOnly }
func machineTime() (time.Duration, error) { return 0, errLinuxOnly }
func checkOpenFiles(int) error            { return errLinuxOnly }
func memoryOf(int) (memory, error)        { return memory{}, errLinuxOnly }
func peakMemory(int) (int64, error)       { return 0, errLinuxOnly }
