// SPDX-License-Identifier: MIT

// Package remote is a bench between two machines: a Server lends one of its
// interfaces to a client's run, and a Link is a referee's way to a worker of this
// machine and one of such a server.
//
// They talk over one TCP connection, which is the session:
//
//	client                               server
//	greeting: version, build      <->    greeting          both refuse what differs
//	                              <--    challenge         a nonce
//	open: nonce, proof, addresses -->                      of the client's interface
//	                              <--    welcome           proof, and who sends to whom
//	worker                        -->    ok                a worker process is started
//	all that package control has  <->    passed on to the worker and back
//	for workers
//
// A server has one session at a time. It passes on messages that it has understood
// and found to be within bounds, and only for the interface and addresses of its
// welcome. When a session ends, in whatever way, its worker ends with it, and with
// that all that the worker held. A session has a time when it is over, and each wait
// in it has an end: for the greeting and what follows, for a question, for the
// worker's answer, and for a client that cannot be reached any more.
//
// A token, where there is one, proves each end to the other and never goes over the
// wire. What does go over it is neither encrypted nor guarded against somebody in
// between who changes it.
package remote
