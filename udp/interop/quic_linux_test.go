// SPDX-License-Identifier: MIT

package interop

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/xdpath/xdpath/internal/testnet"
	"github.com/xdpath/xdpath/udp"
)

const (
	fileSize = 8 << 20
	patience = 30 * time.Second
	name     = "xdpath.test"
)

// TestQUIC has quic-go send a file there and one back, with a PacketConn of ours as
// the server's socket, as the client's, and as both. quic-go knows it as an ordinary
// net.PacketConn.
func TestQUIC(t *testing.T) {
	for _, x := range []struct {
		name           string
		server, client opener
	}{
		{"ours serves", xdpath, kernel},
		{"ours asks", kernel, xdpath},
		{"ours and ours", xdpath, xdpath},
	} {
		t.Run(x.name, func(t *testing.T) {
			pair := testnet.TestPair(t, testnet.Config{})
			serverTLS, clientTLS := certificate(t)
			listener, err := transport(t, x.server(t, pair.B, pair.B.IP4)).Listen(serverTLS, nil)
			if err != nil {
				t.Fatal(err)
			}
			there, back := file(1), file(2)
			served := make(chan error, 1)
			go func() { served <- serve(listener, there, back) }()
			client := transport(t, x.client(t, pair.A, pair.A.IP4))
			if err := ask(client, listener.Addr(), clientTLS, there, back); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// opener opens a socket on an end, which the test closes.
type opener func(t *testing.T, end testnet.End, local netip.Addr) net.PacketConn

func kernel(t *testing.T, end testnet.End, local netip.Addr) net.PacketConn {
	t.Helper()
	var c *net.UDPConn
	err := end.NS.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 4433)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func xdpath(t *testing.T, end testnet.End, local netip.Addr) net.PacketConn {
	t.Helper()
	var c *udp.Conn
	err := end.NS.Do(func() (err error) {
		c, err = udp.Listen(context.Background(), udp.Config{Interface: end.Name, Local: netip.AddrPortFrom(local, 4433)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkLanes(t, c)
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return c.PacketConn()
}

// checkLanes makes sure that it was the fast lane that carried the files.
func checkLanes(t *testing.T, c *udp.Conn) {
	st, err := c.Stats()
	if err != nil {
		t.Error(err)
	}
	t.Log(c.Info(), st)
	if st.FastRxBytes < fileSize || st.FastTxBytes < fileSize || st.KernelRx > 100 || st.KernelTx > 100 {
		t.Errorf("bytes received %d fast, %d kernel; sent %d fast, %d kernel", st.FastRxBytes, st.KernelRxBytes, st.FastTxBytes, st.KernelTxBytes)
	}
}

func transport(t *testing.T, c net.PacketConn) *quic.Transport {
	tr := &quic.Transport{Conn: c}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// serve takes one file and answers with another.
func serve(l *quic.Listener, there, back []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := l.Accept(ctx)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if err := receive(stream, there); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if err := send(stream, back); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	<-conn.Context().Done() // the client has all of it
	return nil
}

// ask sends one file and takes another.
func ask(tr *quic.Transport, to net.Addr, conf *tls.Config, there, back []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := tr.Dial(ctx, to, conf, nil)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer conn.CloseWithError(0, "done")
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := send(stream, there); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := receive(stream, back); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return nil
}

// send sends all of a file, and its end.
func send(s *quic.Stream, data []byte) error {
	s.SetDeadline(time.Now().Add(patience))
	if _, err := io.Copy(s, bytes.NewReader(data)); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return s.Close()
}

// receive compares what comes with what should.
func receive(s *quic.Stream, want []byte) error {
	s.SetDeadline(time.Now().Add(patience))
	sum := sha256.New()
	n, err := io.Copy(sum, s)
	if err != nil {
		return fmt.Errorf("receive: %w after %d bytes", err, n)
	}
	if whole := sha256.Sum256(want); !bytes.Equal(sum.Sum(nil), whole[:]) {
		return fmt.Errorf("received %d bytes with hash %x, want %d with %x", n, sum.Sum(nil), len(want), whole)
	}
	return nil
}

// file is random bytes, the same ones for the same seed.
func file(seed byte) []byte {
	b := make([]byte, fileSize)
	mrand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// certificate makes a server that the client knows.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AddCert(cert)
	protocols := []string{"file"}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: protocols},
		&tls.Config{RootCAs: known, ServerName: name, NextProtos: protocols}
}
