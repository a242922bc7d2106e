// SPDX-License-Identifier: MIT

// Package control is the protocol between the bench's controller and its two
// workers, over any stream: a socket pair to a process of the same machine, or
// TCP to another.
//
// The controller asks and the worker answers, one message at a time:
//
//	hello    version and facts of both       -> hello
//	prepare  open one side of a path         -> ready
//	start    begin a window of traffic       -> ok
//	stop     sender: end early; receiver:    -> ok
//	         drain what is still queued
//	totals   wait for the end, tell results  -> totals
//	close    close the path                  -> ok
//	bye      end the worker                  -> ok
//
// To each the worker may answer error with a sentence; it goes on serving.
//
// A message is four bytes of length in network byte order and that many bytes
// of JSON, at most MaxMessage. Whoever gets anything else closes the stream: a
// length that is 0 or too large, text that is not one JSON object, unknown
// fields, a body that does not belong to the type, a value out of bounds. A
// message that has begun must be complete within MessageTime. A worker runs
// only what the messages can say, and every wait of it has an end.
package control
