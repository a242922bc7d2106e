// SPDX-License-Identifier: MIT

package gv

import "fmt"

// Status is what became of a command, or what there is to say of a packet of the
// stream. From 0x8000 on it is an error, and a packet has no body then.
type Status uint16

const (
	OK     Status = 0
	Resent Status = 0x0100 // the packet was asked for

	NotImplemented   Status = 0x8001
	InvalidParameter Status = 0x8002
	InvalidAddress   Status = 0x8003
	WriteProtect     Status = 0x8004
	BadAlignment     Status = 0x8005
	AccessDenied     Status = 0x8006
	Busy             Status = 0x8007
	InvalidHeader    Status = 0x800e
	WrongConfig      Status = 0x800f
	Failed           Status = 0x8fff

	// What a camera says of packets that it was asked to send again.
	Unavailable            Status = 0x800c
	NotYetAvailable        Status = 0x8010
	PreviousGone           Status = 0x8011 // this one and all before it
	Gone                   Status = 0x8012 // do not ask again
	TemporarilyUnavailable Status = 0x8014
	Overflow               Status = 0x8015
)

var statusNames = map[Status]string{
	OK: "ok", Resent: "resent", NotImplemented: "not implemented", InvalidParameter: "invalid parameter",
	InvalidAddress: "invalid address", WriteProtect: "write protected", BadAlignment: "bad alignment",
	AccessDenied: "access denied", Busy: "busy", InvalidHeader: "invalid header", WrongConfig: "wrong configuration",
	Failed: "failed", Unavailable: "packet unavailable", NotYetAvailable: "packet not yet available",
	PreviousGone: "packet and all before it gone", Gone: "packet gone",
	TemporarilyUnavailable: "packet temporarily unavailable", Overflow: "overflow",
}

// IsError tells statuses that are errors from those that are not.
func (s Status) IsError() bool { return s >= 0x8000 }

func (s Status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("status %#04x", uint16(s))
}

// Error makes a Status that a camera answered with an error.
func (s Status) Error() string { return s.String() }
