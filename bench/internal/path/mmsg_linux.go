// SPDX-License-Identifier: MIT

package path

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/xdpath/xdpath/bench/internal/sys"
)

// mmsgPath is sendmmsg and recvmmsg with a batch of datagrams a call.
func mmsgPath() Path {
	return Path{
		Name: "mmsg", Fragments: true,
		Sender: func(cfg Config) (Sender, error) {
			s, err := openUDP(cfg)
			if err != nil {
				return nil, err
			}
			s.info.Batch = cfg.Batch
			return newMmsgSender(s, cfg), nil
		},
		Receiver: func(cfg Config) (Receiver, error) {
			s, err := openUDP(cfg)
			if err != nil {
				return nil, err
			}
			s.info.Batch = cfg.Batch
			// One byte more than a payload has, to see one that is too long.
			_, bufs := slices(cfg.Batch, cfg.Size+1)
			return &mmsgReceiver{udpSocket: s, bufs: bufs, batch: sys.NewBatch(bufs, 0)}, nil
		},
		Camera: func(cfg Config) (Camera, error) { return openMmsgCamera(cfg) },
	}
}

// slices makes one block of memory and cuts it into n buffers of size bytes.
func slices(n, size int) (block []byte, bufs [][]byte) {
	block = make([]byte, n*size)
	bufs = make([][]byte, n)
	for i := range bufs {
		bufs[i] = block[i*size : (i+1)*size : (i+1)*size]
	}
	return block, bufs
}

type mmsgSender struct {
	*udpSocket
	block []byte   // payloads of a batch, one after the other
	bufs  [][]byte // block in pieces
	batch *sys.Batch
}

func newMmsgSender(s *udpSocket, cfg Config) *mmsgSender {
	block, bufs := slices(cfg.Batch, cfg.Size)
	return &mmsgSender{udpSocket: s, block: block, bufs: bufs, batch: sys.NewBatch(bufs, 0)}
}

func (s *mmsgSender) Reserve(bufs [][]byte) (int, error) {
	return copy(bufs, s.bufs), nil
}

// Send repeats the call for what the kernel did not take at once.
func (s *mmsgSender) Send(n int) (int, error) {
	for done := 0; done < n; {
		k, err := s.batch.Send(s.fd, done, n, 0)
		if err != nil {
			return done, fmt.Errorf("sendmmsg: %w", err)
		}
		done += k
	}
	return n, nil
}

type mmsgReceiver struct {
	*udpSocket
	bufs  [][]byte
	batch *sys.Batch
}

func (r *mmsgReceiver) Receive(_ context.Context, views [][]byte) (int, error) {
	n, err := r.batch.Receive(r.fd, min(len(views), len(r.bufs)), unix.MSG_WAITFORONE)
	if err != nil {
		if timedOut(err) {
			return 0, nil
		}
		return 0, fmt.Errorf("recvmmsg: %w", err)
	}
	for i := range n {
		views[i] = r.bufs[i][:r.batch.Len(i)]
	}
	return n, nil
}
