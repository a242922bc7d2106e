// SPDX-License-Identifier: MIT

package iperf3

import "fmt"

// State is what one side tells the other on the control connection, one byte.
type State int8

// States, and the numbers that iperf 3 has for them.
const (
	TestStart       State = 1
	TestRunning     State = 2
	TestEnd         State = 4
	ParamExchange   State = 9
	CreateStreams   State = 10
	ServerTerminate State = 11
	ClientTerminate State = 12
	ExchangeResults State = 13
	DisplayResults  State = 14
	Done            State = 16
	AccessDenied    State = -1
	ServerError     State = -2 // followed by two numbers of 32 bits: iperf 3's own, and errno
)

var stateNames = map[State]string{
	TestStart: "test start", TestRunning: "test running", TestEnd: "test end", ParamExchange: "parameter exchange",
	CreateStreams: "create streams", ServerTerminate: "server terminates", ClientTerminate: "client terminates",
	ExchangeResults: "exchange results", DisplayResults: "display results", Done: "done",
	AccessDenied: "access denied", ServerError: "server error",
}

func (s State) String() string {
	if name, ok := stateNames[s]; ok {
		return name
	}
	return fmt.Sprintf("state %d", int8(s))
}

// Numbers that go with ServerError, of which iperf 3 prints the meaning.
const (
	errorDuration      = 5  // test duration too long
	errorStreams       = 6  // too many parallel streams
	errorSize          = 7  // block size
	errorUnimplemented = 13 // an option that is not implemented
	errorParameters    = 114
)
