#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles xdp.c and xdp_meta.c for both byte orders into the directory given (here if none).
# Needs clang only, of the version below: the objects are committed, and a test
# compares them byte by byte with what this script makes. Nothing of the machine
# gets into them: no debug information, no BTF, no paths, no compiler name.
set -eu
version=14.0.6
clang=${CLANG:-clang-14}
out=$(cd "${1:-$(dirname "$0")}" && pwd)
cd "$(dirname "$0")"

case $("$clang" --version) in
*"clang version $version"*) ;;
*) echo "bpf: build: $clang is not clang $version" >&2; exit 3 ;;
esac
for source in xdp xdp_meta; do
	for order in el eb; do
		# -mcpu=v2 keeps to instructions that every kernel with XSKMAP knows.
		"$clang" -target bpf$order -mcpu=v2 -O2 -std=gnu11 -Wall -Wextra -Werror \
			-nostdinc -fno-ident -fno-addrsig -g0 -c $source.c -o "$out/${source}_bpf$order.o"
	done
done
