// SPDX-License-Identifier: MIT

// Go wants an assembly file, empty here, to allow functions without a body: wireguardSum.
