// SPDX-License-Identifier: MIT

// Package chart draws figures as SVG to stand within a page: lines over a size or a
// parameter, bars, and the distribution of latencies with its tail.
//
// A drawing has no colours of its own. Its elements have classes, which the page gives
// colours, for light and for dark; a series has a class s0 to s7 by its slot, and
// beside it a shape of its marks, so that colour is never all that tells two apart.
// Each series has its name at the end of its line and each mark its figures in a
// tooltip. Axes begin at zero unless they are logarithmic, which is for the caller to
// say in their titles.
package chart
