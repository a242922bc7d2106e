// SPDX-License-Identifier: MIT

//go:build !linux

package main

// systemCommands are none on other systems.
func systemCommands() []command { return nil }
