// SPDX-License-Identifier: MIT

package packet_test

import (
	"fmt"
	"net/netip"

	"github.com/xdpath/xdpath/internal/packet"
)

// exampleFrame sends a question from 10.9.0.1 to 10.9.0.2.
func exampleFrame(question string) []byte {
	t, err := packet.NewTemplate(packet.Config{
		SrcMAC: packet.MAC{0x02, 0, 0x5e, 0, 0x53, 1},
		DstMAC: packet.MAC{0x02, 0, 0x5e, 0, 0x53, 2},
		Src:    netip.MustParseAddrPort("10.9.0.1:4000"),
		Dst:    netip.MustParseAddrPort("10.9.0.2:5000"),
	})
	if err != nil {
		fmt.Println(err)
		return nil
	}
	frame := make([]byte, t.Len()+len(question))
	copy(frame[t.Len():], question)
	t.Put(frame, frame[t.Len():])
	return frame
}

func ExampleParse() {
	frame := exampleFrame("what time is it?")
	u, reason := packet.Parse(frame)
	if reason != packet.OK {
		fmt.Println("not for us:", reason)
		return
	}
	fmt.Printf("%v -> %v: %q, checksum %v\n", u.Src, u.Dst, u.Payload(frame), u.Verify(frame))
	_, reason = packet.Parse(frame[:40])
	fmt.Println(reason)
	// Output:
	// 10.9.0.1:4000 -> 10.9.0.2:5000: "what time is it?", checksum good
	// truncated
}

func ExampleUDP_Reply() {
	frame := exampleFrame("what time is it?")
	u, _ := packet.Parse(frame)
	frame = append(frame[:u.Offset], "late"...)
	n := u.Reply(packet.ReplyConfig{}, frame)
	u, _ = packet.Parse(frame)
	fmt.Printf("%d bytes, %v -> %v: %q, checksum %v\n", n, u.Src, u.Dst, u.Payload(frame), u.Verify(frame))
	// Output:
	// 46 bytes, 10.9.0.2:5000 -> 10.9.0.1:4000: "late", checksum good
}

func ExampleTemplate() {
	t, err := packet.NewTemplate(packet.Config{
		SrcMAC:   packet.MAC{0x02, 0, 0x5e, 0, 0x53, 1},
		Src:      netip.MustParseAddrPort("[fe80::1]:4000"),
		Dst:      netip.MustParseAddrPort("[ff02::1234]:5000"),
		Tagged:   true,
		TCI:      100,
		Checksum: packet.Offload,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	header := make([]byte, packet.MaxHeaderLen)
	n := t.PutLen(header, 1000)
	fmt.Printf("%d bytes to %v, checksum from %d on at +%d\n", n, packet.MAC(header[:6]), t.ChecksumStart(), packet.ChecksumOffset)
	// Output:
	// 66 bytes to 33:33:00:00:12:34, checksum from 58 on at +6
}

func ExampleSum() {
	header := []byte{0x45, 0, 0, 47, 0, 0, 0x40, 0, 64, 17, 0x26, 0xaa, 10, 9, 0, 1, 10, 9, 0, 2}
	fmt.Printf("%#x\n", packet.Sum(header, 0)) // all ones: the checksum in it is right
	// Output:
	// 0xffff
}
