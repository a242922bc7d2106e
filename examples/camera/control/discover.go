// SPDX-License-Identifier: MIT

package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// Found is a camera that answered a broadcast.
type Found struct {
	From netip.AddrPort
	gv.Identity
}

func (f Found) String() string {
	return fmt.Sprintf("%s %s, serial number %s, at %v", f.Manufacturer, f.Model, f.Serial, f.From.Addr())
}

// Discover asks by broadcast from an address of this host which cameras there are,
// and collects answers for some time.
func Discover(ctx context.Context, local netip.Addr, patience time.Duration) ([]Found, error) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
	if err != nil {
		return nil, fmt.Errorf("control: discover: %w", err)
	}
	defer conn.Close()
	ask := gv.AppendCommand(nil, gv.Command{Flags: gv.FlagAck | gv.FlagBroadcast, Kind: gv.Discovery, ID: 1})
	all := netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), gv.ControlPort)
	if _, err := conn.WriteToUDPAddrPort(ask, all); err != nil {
		return nil, fmt.Errorf("control: discover: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	conn.SetReadDeadline(time.Now().Add(patience))
	var found []Found
	b := make([]byte, 2048)
	for ctx.Err() == nil {
		n, from, err := conn.ReadFromUDPAddrPort(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return found, fmt.Errorf("control: discover: %w", err)
		}
		ack, err := gv.ParseAck(b[:n])
		if err != nil || ack.Kind != gv.Discovery.Ack() || ack.Status != gv.OK {
			continue
		}
		if who, err := gv.ParseIdentity(ack.Body); err == nil {
			found = append(found, Found{netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), who})
		}
	}
	return found, ctx.Err()
}
