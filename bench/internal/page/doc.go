// SPDX-License-Identifier: MIT

// Package page makes one HTML file of a document of results: figures, the table, how
// it was measured and on what.
//
// The file stands alone: styles and figures are in it, and it loads nothing. It has
// no script. What it looks like, light, dark and on paper, is in page.css.
package page
