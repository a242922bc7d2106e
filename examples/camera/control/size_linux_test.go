// SPDX-License-Identifier: MIT

package control

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
	"github.com/xdpath/xdpath/internal/testnet"
)

// sendTest sends a test packet as a camera does, with the bit that forbids fragments
// or without it.
func sendTest(discover int) func(*net.UDPConn, netip.AddrPort, int) {
	return func(conn *net.UDPConn, to netip.AddrPort, size int) {
		raw, _ := conn.SyscallConn()
		raw.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER, discover)
		})
		conn.WriteToUDPAddrPort(make([]byte, size), to) // too large: it is not sent
	}
}

// The size that is found is never over the MTU of either end, whether or not the
// camera forbids fragments: test packets that arrive in pieces do not count.
func TestPacketSize(t *testing.T) {
	for _, c := range []struct {
		mtu, camera, most int // MTU of the camera's end; 0: the same. The camera's own limit.
		discover          int
		want              int
	}{
		{mtu: 1500, discover: syscall.IP_PMTUDISC_DO, want: 1500},
		{mtu: 3500, discover: syscall.IP_PMTUDISC_DO, want: 3500},
		{mtu: 9000, discover: syscall.IP_PMTUDISC_DO, want: 9000},
		{mtu: 9000, camera: 3500, discover: syscall.IP_PMTUDISC_DO, want: 3500},
		{mtu: 9000, camera: 3500, discover: syscall.IP_PMTUDISC_DONT, want: 3500},
		{mtu: 9000, camera: 1500, discover: syscall.IP_PMTUDISC_DONT, want: 1500},
		{mtu: 9000, most: 4000, discover: syscall.IP_PMTUDISC_DONT, want: 4000},
	} {
		t.Run(fmt.Sprintf("%d, camera %d, at most %d, discover %d", c.mtu, c.camera, c.most, c.discover), func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{MTU: c.mtu})
			if c.camera > 0 {
				if err := pair.A.SetMTU(c.camera); err != nil {
					t.Fatal(err)
				}
			}
			send := sendTest(c.discover)
			s := listen(t, &stub{test: func(conn *net.UDPConn, to netip.AddrPort, size int) {
				if c.most == 0 || size <= gv.TestPacketLen(c.most) {
					send(conn, to, size)
				}
			}}, netip.AddrPortFrom(pair.A.IP4, 0), pair.A.NS.Do)
			var size int
			err := pair.B.NS.Do(func() (err error) {
				client, err := Dial(Config{Camera: s.addr()})
				if err != nil {
					return err
				}
				defer client.Close()
				size, err = client.PacketSize(t.Context(), c.mtu)
				return err
			})
			if err != nil || size > c.want || size < c.want-granularity {
				t.Errorf("%d, %v; want %d", size, err, c.want)
			}
			if s.get(gv.RegSCP) != 0 {
				t.Error("the stream channel is left open")
			}
		})
	}
}

func TestNoTestPackets(t *testing.T) {
	s := local(t, &stub{})
	client := dial(t, Config{Camera: s.addr()})
	if size, err := client.PacketSize(t.Context(), 1500); !errors.Is(err, ErrNoTestPackets) {
		t.Errorf("%d, %v", size, err)
	}
}

// Cameras are found by broadcast.
func TestDiscover(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	listen(t, &stub{}, netip.AddrPortFrom(netip.IPv4Unspecified(), gv.ControlPort), pair.A.NS.Do)
	var found []Found
	err := pair.B.NS.Do(func() (err error) {
		found, err = Discover(t.Context(), pair.B.IP4, time.Second)
		return err
	})
	if err != nil || len(found) != 1 || found[0].From.Addr() != pair.A.IP4 || found[0].Serial != "1" {
		t.Errorf("%v, %v", found, err)
	}
}
