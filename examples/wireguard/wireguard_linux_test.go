// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/tuntest"

	"github.com/xdpath/xdpath/internal/packet"
	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

// asProgram makes the test binary be the example.
const asProgram = "XDPATH_WIREGUARD"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const patience = 20 * time.Second

var (
	insideA = netip.MustParseAddr("10.77.0.1")
	insideB = netip.MustParseAddr("10.77.0.2")
)

// A ping through the tunnel and its answer, with wireguard-go's own sockets at one
// end, ours at the other, and channels in place of the tunnels' interfaces.
func TestPing(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	a, b := newKeys(t), newKeys(t)
	tunA := startDevice(t, pair.A, conn.NewDefaultBind(), a.config(b, pair.B.IP4, insideB))
	ours := &bind{cfg: udp.Config{Interface: pair.B.Name}}
	tunB := startDevice(t, pair.B, ours, b.config(a, pair.A.IP4, insideA))
	for range 100 {
		pass(t, tunA, tunB, ping(insideA, insideB, request))
		pass(t, tunB, tunA, ping(insideB, insideA, reply))
	}
	st, err := ours.c.Stats()
	t.Log(ours.c.Info(), st)
	if err != nil || st.FastRx < 100 || st.FastTx < 90 {
		t.Errorf("the fast lane was not used: %v, %v", st, err)
	}
}

// pass sends a packet into one tunnel and waits for it at the other.
func pass(t *testing.T, from, to *tuntest.ChannelTUN, packet []byte) {
	t.Helper()
	from.Outbound <- packet
	select {
	case got := <-to.Inbound:
		if !bytes.Equal(got, packet) {
			t.Fatalf("got %x, want %x", got, packet)
		}
	case <-time.After(patience):
		t.Fatal("nothing comes out of the tunnel")
	}
}

// The program itself, with a real tunnel interface: the kernel behind it answers
// the pings.
func TestProgram(t *testing.T) {
	pair := testnet.TestPair(t, testnet.Config{})
	if _, err := os.Stat("/dev/net/tun"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no /dev/net/tun; the kernel needs CONFIG_TUN")
	}
	a, b := newKeys(t), newKeys(t)
	name := "t" + pair.B.Name
	startProgram(t, pair.B, name)
	configure(t, name, b.config(a, pair.A.IP4, insideA))
	setUp(t, pair.B, name)

	tunA := startDevice(t, pair.A, conn.NewDefaultBind(), a.config(b, pair.B.IP4, insideB))
	answer := ping(insideB, insideA, reply)[20:]
	for range 10 {
		tunA.Outbound <- ping(insideA, insideB, request)
		select {
		case got := <-tunA.Inbound:
			if len(got) < 20 || netip.AddrFrom4([4]byte(got[12:])) != insideB || !bytes.Equal(got[20:], answer) {
				t.Fatalf("no answer to a ping: %x", got)
			}
		case <-time.After(patience):
			t.Fatal("no answer")
		}
	}
}

const (
	request = 8 // types of ICMP echo messages
	reply   = 0
)

// ping is an IPv4 packet with an ICMP echo message.
func ping(src, dst netip.Addr, kind byte) []byte {
	message := append([]byte{kind, 0, 0, 0, 0x12, 0x34, 0, 1}, "is anybody there?"...)
	binary.BigEndian.PutUint16(message[2:], ^packet.Sum(message, 0))
	header := []byte{0x45, 0, 0, byte(20 + len(message)), 0, 0, 0, 0, 64, 1, 0, 0}
	header = slices.Concat(header, src.AsSlice(), dst.AsSlice())
	binary.BigEndian.PutUint16(header[10:], ^packet.Sum(header, 0))
	return append(header, message...)
}

// startProgram runs the example on an end.
func startProgram(t *testing.T, end testnet.End, name string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-i", end.Name, "-tun", name)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := end.NS.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
}

// configure does what wg would.
func configure(t *testing.T, name, config string) {
	t.Helper()
	var c net.Conn
	var err error
	for giveUp := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if c, err = net.Dial("unix", "/var/run/wireguard/"+name+".sock"); err == nil {
			break
		}
		if time.Now().After(giveUp) {
			t.Fatal(err)
		}
	}
	defer c.Close()
	fmt.Fprintf(c, "set=1\n%s\n", config)
	answer := make([]byte, 100)
	n, err := c.Read(answer)
	if err != nil || string(answer[:n]) != "errno=0\n\n" {
		t.Fatalf("answer %q, %v", answer[:n], err)
	}
}

// setUp does what ip would.
func setUp(t *testing.T, end testnet.End, name string) {
	t.Helper()
	err := end.NS.Do(func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: insideB.AsSlice(), Mask: net.CIDRMask(24, 32)}}
		return errors.Join(netlink.AddrAdd(link, addr), netlink.LinkSetUp(link))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inNS opens the sockets of a Bind in a namespace, whoever calls.
type inNS struct {
	conn.Bind
	ns *testnet.NS
}

func (b inNS) Open(port uint16) (fns []conn.ReceiveFunc, actual uint16, err error) {
	err = b.ns.Do(func() error {
		fns, actual, err = b.Bind.Open(port)
		return err
	})
	return fns, actual, err
}

// startDevice runs wireguard-go on an end, with a channel as the tunnel.
func startDevice(t *testing.T, end testnet.End, b conn.Bind, config string) *tuntest.ChannelTUN {
	t.Helper()
	tunnel := tuntest.NewChannelTUN()
	d := device.NewDevice(tunnel.TUN(), inNS{b, end.NS}, device.NewLogger(device.LogLevelError, end.Name+": "))
	t.Cleanup(d.Close)
	if err := errors.Join(d.IpcSet(config), d.Up()); err != nil {
		t.Fatal(err)
	}
	return tunnel
}

// keys are a peer's.
type keys struct{ private, public string }

func newKeys(t *testing.T) keys {
	t.Helper()
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return keys{hex.EncodeToString(k.Bytes()), hex.EncodeToString(k.PublicKey().Bytes())}
}

// config tells k of one peer.
func (k keys) config(peer keys, at, inside netip.Addr) string {
	return fmt.Sprintf("private_key=%s\nlisten_port=51820\npublic_key=%s\nendpoint=%v:51820\nallowed_ip=%v/32\n", k.private, peer.public, at, inside)
}
