// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

// channelIoctl asks for queue counts by ioctl, on kernels before Linux 5.6.
type channelIoctl struct{ handle *ethtool.Ethtool }

// newChannelIoctl opens a socket in the namespace of the calling thread.
func newChannelIoctl() (*channelIoctl, error) {
	handle, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("open ethtool socket: %w", err)
	}
	return &channelIoctl{handle: handle}, nil
}

// channels asks for the queue counts. ok is false if the driver does not tell. The
// ioctl takes a name: an interface renamed a moment ago is not found, and the
// caller asks again with the next event.
func (c *channelIoctl) channels(name string) (ch channels, ok bool, err error) {
	got, err := c.handle.GetChannels(name)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return channels{}, false, nil
	case errors.Is(err, unix.ENODEV):
		return channels{}, false, ErrNoInterface
	case err != nil:
		return channels{}, false, fmt.Errorf("ask for channels: %w", err)
	}
	return channels{
		rx: int(got.RxCount), tx: int(got.TxCount), combined: int(got.CombinedCount),
		rxMax: int(got.MaxRx), txMax: int(got.MaxTx), combinedMax: int(got.MaxCombined),
	}, true, nil
}

func (c *channelIoctl) close() { c.handle.Close() }
