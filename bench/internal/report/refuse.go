// SPDX-License-Identifier: MIT

package report

import "slices"

// Settle makes a document of what was measured complete: rows whose runs went by
// different modes lose their results, and have a skip in place of them, since no
// median of theirs would be of anything; those that are left get a summary.
func Settle(doc Document) Document {
	rows := Rows(doc)
	for _, r := range rows {
		i := slices.IndexFunc(doc.Results, func(m Result) bool { return m.Key() == r.Key })
		if len(r.Runs) > 0 || i < 0 {
			continue
		}
		doc.Env.Skipped = append(doc.Env.Skipped[:len(doc.Env.Skipped):len(doc.Env.Skipped)], Skip{Key: r.Key, Run: doc.Results[i].Run, Reason: r.Reason})
		doc.Results = slices.DeleteFunc(slices.Clone(doc.Results), func(m Result) bool { return m.Key() == r.Key })
	}
	doc.Summary = Summarize(rows)
	return doc
}
