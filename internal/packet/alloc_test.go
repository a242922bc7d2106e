// SPDX-License-Identifier: MIT

package packet_test

import (
	"testing"

	"github.com/xdpath/xdpath/internal/packet"
)

// Nothing on the way of a datagram allocates, whether it is taken or refused.
func TestNoAllocations(t *testing.T) {
	payload := make([]byte, 1001)
	halves := [][]byte{payload[:501], payload[501:]}
	for _, cfg := range []packet.Config{flow4(), tagged(flow6(), 100)} {
		frame := put(t, cfg, payload)
		u := mustParse(t, frame)
		tmpl := mustTemplate(t, cfg)
		offload := cfg
		offload.Checksum = packet.Offload
		device := mustTemplate(t, offload)
		scratch := put(t, cfg, payload)
		for name, f := range map[string]func(){
			"Parse":           func() { packet.Parse(frame) },
			"Parse, refused":  func() { packet.Parse(frame[:50]) },
			"ParseTotal":      func() { packet.ParseTotal(frame[:200], len(frame)) },
			"Decode":          func() { new(packet.UDP).Decode(frame, len(frame)) },
			"Payload":         func() { u.Payload(frame) },
			"Verify":          func() { u.Verify(frame) },
			"Verify segments": func() { u.Verify(frame[:301], frame[301:500], frame[500:]) },
			"LooksPartial":    func() { u.LooksPartial(frame) },
			"Sum":             func() { packet.Sum(frame, 0) },
			"SumSegments":     func() { packet.SumSegments(0, frame[:301], frame[301:]) },
			"GroupMAC":        func() { packet.GroupMAC(u.Dst.Addr()) },
			"NewTemplate":     func() { mustTemplate(t, cfg) },
			"Put":             func() { tmpl.Put(scratch, payload) },
			"Put, refused":    func() { tmpl.Put(scratch[:40], payload) },
			"PutSegments":     func() { tmpl.PutSegments(scratch, halves) },
			"PutLen":          func() { device.PutLen(scratch, len(payload)) },
			"SetTOS":          func() { tmpl.SetTOS(scratch, 1) },
			"SetID":           func() { tmpl.SetID(scratch, 1) },
			"Reply":           func() { u.Reply(packet.ReplyConfig{}, scratch) },
			"Reply segments":  func() { u.Reply(packet.ReplyConfig{}, scratch[:301], scratch[301:]) },
		} {
			if n := testing.AllocsPerRun(100, f); n != 0 {
				t.Errorf("%v: %s allocates %v times", cfg.Dst, name, n)
			}
		}
	}
}
