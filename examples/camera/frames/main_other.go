// SPDX-License-Identifier: MIT

//go:build !linux

package main

import (
	"errors"
	"fmt"
	"log"
)

func main() {
	log.Fatal(fmt.Errorf("frames: %w: it makes network namespaces, which Linux has", errors.ErrUnsupported))
}
