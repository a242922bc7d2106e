// SPDX-License-Identifier: MIT

// Package xsk is the AF_XDP socket: four rings over an area of memory, bound to
// one queue of one interface.
//
//	     program                                  kernel
//	Release, Receive ---- fill ring ------------> writes frames into the chunks
//	         Receive <--- RX ring --------------- frames that the XDP program redirected
//	            Send ---- TX ring --------------> reads frames, after Flush
//	            Reap <--- completion ring ------- has let go of them
//
// A received [umem.Frame] is the caller's until it is released or sent; a reserved
// one until it is sent or released. Frames that were sent come back to the pool
// by themselves, once the kernel has completed them: [Socket.Reserve] reaps.
//
//	s, err := xsk.Open(xsk.Config{Interface: "eth0"})
//	...
//	frames := make([]umem.Frame, 64)
//	for {
//		n, err := s.ReceiveContext(ctx, frames)
//		if err != nil {
//			return err
//		}
//		for _, f := range frames[:n] {
//			b, _ := s.Area().Bytes(f) // valid until Release
//			use(b)
//		}
//		s.Release(frames[:n])
//	}
//
// A socket receives nothing before an XDP program redirects packets to it: see
// package bpf, which takes [Socket.FD] and the queue's number.
//
// What a socket can do: any number of goroutines may use it; one that receives
// and one that sends never wait for each other. What it cannot: see traffic of
// other queues; send to the local host (on a loopback interface it only
// receives); pass a queueing discipline (AF_XDP transmission bypasses them,
// __dev_direct_xmit in net/core/dev.c).
//
// Memory: an area of a socket's own has RxFrames + TxFrames chunks, 8 MiB by
// default, all of it locked: Info.Locked is what counts against RLIMIT_MEMLOCK,
// per user, without CAP_IPC_LOCK. The kernel's rings come on top, uncounted: 16
// bytes an entry for RX and TX, 8 for fill and completion.
//
// The interface: a socket survives that it is renamed, or down for a while. It
// does not survive that the interface is deleted or moved to another network
// namespace; then ReceiveContext and Flush return ErrNoInterface, and it can only
// be closed. poll(2) on [Socket.FD] tells nothing of all this: watch the interface
// by netlink.
//
// Minimum kernel: 5.4 (need wakeup). Multi-buffer needs 6.6.
package xsk
