// SPDX-License-Identifier: MIT

// Package referee drives two workers through a plan of runs and judges what
// they report.
//
// It knows nothing of where the workers are. A Link brings them: Local starts
// two processes of this machine in network namespaces of their own.
package referee
