// SPDX-License-Identifier: MIT

//go:build !linux

package iperf3

// spent is not told on other systems.
func spent() usage { return usage{} }
