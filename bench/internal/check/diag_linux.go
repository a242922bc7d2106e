// SPDX-License-Identifier: MIT

package check

import (
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// diagRequest is struct xdp_diag_req: family, protocol, pad, inode, show, cookie.
type diagRequest struct{}

func (diagRequest) Len() int { return 20 }
func (diagRequest) Serialize() []byte {
	b := make([]byte, 20)
	b[0] = unix.AF_XDP
	binary.NativeEndian.PutUint32(b[8:], showInfo|showUMEM)
	return b
}

// listSockets asks the kernel for all AF_XDP sockets of the thread's network namespace.
// ok is false where it was built without (CONFIG_XDP_SOCKETS_DIAG).
func listSockets() (all []diagSocket, ok bool) {
	req := nl.NewNetlinkRequest(diagByFamily, unix.NLM_F_DUMP)
	req.AddData(diagRequest{})
	answers, err := req.Execute(unix.NETLINK_SOCK_DIAG, diagByFamily)
	if err != nil {
		return nil, false
	}
	for _, a := range answers {
		if s, err := parseDiag(a); err == nil {
			all = append(all, s)
		}
	}
	return all, true
}
