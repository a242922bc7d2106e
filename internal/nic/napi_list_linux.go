// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// dumpGeneric asks for a list. Families with generated code send it without
// NLM_F_MULTI, which package nl takes for a single answer; only the last message
// tells the end.
func (r *requester) dumpGeneric(family uint16, cmd, version uint8, attrs ...nl.NetlinkRequestData) ([][]byte, error) {
	handle := r.sockets[unix.NETLINK_GENERIC]
	for try := 1; ; try++ {
		req := nl.NewNetlinkRequest(int(family), unix.NLM_F_DUMP)
		req.Seq = atomic.AddUint32(&handle.Seq, 1)
		req.Data = append([]nl.NetlinkRequestData{rawBody{cmd, version, 0, 0}}, attrs...)
		answers, err := list(handle.Socket, req)
		if errors.Is(err, nl.ErrDumpInterrupted) && try < dumpTries {
			continue
		}
		return answers, err
	}
}

// list sends a request and receives up to the end of the list. The socket's timeout
// bounds each wait.
func list(s *nl.NetlinkSocket, req *nl.NetlinkRequest) (answers [][]byte, err error) {
	s.Lock()
	defer s.Unlock()
	if err := s.Send(req); err != nil {
		return nil, err
	}
	for interrupted := false; ; {
		msgs, from, err := s.Receive()
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			if from.Pid != nl.PidKernel || m.Header.Seq != req.Seq {
				continue // of a request that was given up, or of somebody else
			}
			interrupted = interrupted || m.Header.Flags&unix.NLM_F_DUMP_INTR != 0
			switch m.Header.Type {
			default:
				answers = append(answers, m.Data)
				continue
			case unix.NLMSG_DONE, unix.NLMSG_ERROR:
			}
			if err := endOfList(m.Data); err != nil {
				return nil, err
			}
			if interrupted {
				return nil, nl.ErrDumpInterrupted
			}
			return answers, nil
		}
	}
}

// endOfList reads the error number, negative or 0, that ends a list.
func endOfList(b []byte) error {
	if len(b) < 4 {
		return nil // there need not be one
	}
	if errno := int32(binary.NativeEndian.Uint32(b)); errno != 0 {
		return unix.Errno(-errno)
	}
	return nil
}
