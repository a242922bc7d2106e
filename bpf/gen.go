// SPDX-License-Identifier: MIT

package bpf

//go:generate sh build.sh
