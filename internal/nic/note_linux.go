// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// note is what a reader tells the watcher about its interface.
type note struct {
	what     noteKind
	link     Link         // of linkIs
	channels channels     // of queuesAre
	addr     netip.Prefix // of addrRemoved
}

type noteKind int

const (
	factsUnknown noteKind = iota // something changed or may have: ask for everything
	linkIs
	linkGone
	queuesAre
	addrRemoved
)

// read turns the messages of one socket into notes until the socket is closed.
func (w *Watcher) read(s eventSocket) {
	for {
		msgs, from, err := s.Receive()
		switch {
		case err == nil && from.Pid != nl.PidKernel:
			continue // anybody may send to a netlink socket
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.EINVAL):
			// The socket overran and messages are lost, or this one is not
			// understood: only the present facts count.
			if !w.tell(note{what: factsUnknown}) {
				return
			}
			continue
		case err != nil:
			return // closed; or for good, and the poll remains
		}
		for _, m := range msgs {
			n, ours, err := s.parse(m.Header.Type, m.Data)
			if err != nil {
				n, ours = note{what: factsUnknown}, true
			}
			if ours && !w.tell(n) {
				return
			}
		}
	}
}

// tell hands a note to run. It is false when nobody will take notes any more.
func (w *Watcher) tell(n note) bool {
	select {
	case w.notes <- n:
		return true
	case <-w.done:
		return false
	case <-w.stop:
		return false
	}
}

// routeNote understands rtnetlink. ours is false for other interfaces.
func (w *Watcher) routeNote(typ uint16, body []byte) (n note, ours bool, err error) {
	switch typ {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		m, err := parseLink(body)
		// A bridge announces its ports, and that one has left it, by link messages
		// of its own family: the interface itself lives on.
		ours = m.link.Index == w.nic.index && m.family == unix.AF_UNSPEC
		if typ == unix.RTM_DELLINK {
			return note{what: linkGone}, ours, err
		}
		return note{what: linkIs, link: m.link}, ours, err
	case unix.RTM_NEWADDR:
		m, err := parseAddr(body)
		return note{what: factsUnknown}, m.index == w.nic.index, err
	case unix.RTM_DELADDR:
		m, err := parseAddr(body)
		return note{what: addrRemoved, addr: m.addr}, m.index == w.nic.index, err
	}
	return note{}, false, nil
}

// ethtoolNote understands the monitor group of ethtool, where every change of any
// setting of any interface is told.
func (w *Watcher) ethtoolNote(typ uint16, body []byte) (n note, ours bool, err error) {
	if typ != w.nic.ethtool.id || len(body) == 0 || body[0] != unix.ETHTOOL_MSG_CHANNELS_NTF {
		return note{}, false, nil
	}
	c, err := parseChannels(body)
	return note{what: queuesAre, channels: c}, c.index == w.nic.index, err
}
