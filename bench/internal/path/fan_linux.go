// SPDX-License-Identifier: MIT

package path

import (
	"errors"
	"net/netip"

	"github.com/xdpath/xdpath/bench/internal/loss"
	"github.com/xdpath/xdpath/bench/internal/stream"
	"github.com/xdpath/xdpath/udp"
	"github.com/xdpath/xdpath/xsk"
)

// socketFan opens as many sockets as there are queues, each with ports of its own: the
// kernel spreads flows over queues by their ports.
func socketFan(p Path) func(cfg Config, sender bool) (*Fan, error) {
	return func(cfg Config, sender bool) (*Fan, error) {
		fan, ends := &Fan{}, ends{}
		fan.End = &ends
		for i := range cfg.Queues {
			own := cfg
			own.Flow = i
			own.Local, own.Peer = flowPort(cfg.Local, i), flowPort(cfg.Peer, i)
			end, err := p.Open(Stream, sender, own)
			if err != nil {
				return nil, errors.Join(err, fan.Close())
			}
			ends = append(ends, end)
			fan.add(end)
		}
		return fan, nil
	}
}

// flowPort is the address of flow i. Ports of the two ends lie next to each other.
func flowPort(a netip.AddrPort, i int) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr(), a.Port()+uint16(2*i))
}

// add takes an end in as what it is.
func (f *Fan) add(end any) {
	if s, ok := end.(stream.Sender); ok {
		f.Senders = append(f.Senders, s)
	}
	if r, ok := end.(stream.Receiver); ok {
		f.Receivers = append(f.Receivers, r)
	}
}

// ends are several as one.
type ends []End

// Info is that of the first, with the room of all.
func (e *ends) Info() Info {
	info := (*e)[0].Info()
	for _, other := range (*e)[1:] {
		o := other.Info()
		info.SendRoom += o.SendRoom
		info.ReceiveRoom += o.ReceiveRoom
		info.BufferAsked += o.BufferAsked
		info.BufferGot += o.BufferGot
	}
	return info
}

// Counters adds up theirs.
func (e *ends) Counters() (loss.Counts, error) {
	var sum loss.Counts
	for _, end := range *e {
		counts, err := end.Counters()
		if err != nil {
			return nil, err
		}
		sum = sum.Plus(counts)
	}
	return sum, nil
}

// Close closes all.
func (e *ends) Close() error {
	var errs error
	for _, end := range *e {
		errs = errors.Join(errs, end.Close())
	}
	return errs
}

// endpointFan opens one Conn on all queues. What is sent on a queue of a veth arrives on
// that of the same number; a card spreads by addresses and ports, which are those of one
// flow here.
func endpointFan(cfg Config, sender bool) (*Fan, error) {
	queues := make([]int, cfg.Queues)
	for i := range queues {
		queues[i] = i
	}
	e, err := openWith(cfg, udp.Config{Wait: xsk.Adaptive, Queues: queues})
	if err != nil {
		return nil, err
	}
	fan := &Fan{End: e}
	for _, q := range e.conn.Queues() {
		if !sender {
			fan.Receivers = append(fan.Receivers, newEndpointReceiver(cfg, e, q))
			continue
		}
		s, err := newEndpointSender(cfg, e, q)
		if err != nil {
			return nil, err // which has closed e
		}
		fan.Senders = append(fan.Senders, s)
	}
	if !sender {
		fan.End = &releasing{e, fan.Receivers}
	}
	return fan, nil
}

// releasing gives back what receivers hold before their Conn is closed.
type releasing struct {
	*endpoint
	receivers []stream.Receiver
}

// Close closes the Conn once.
func (r *releasing) Close() error {
	var errs error
	for _, rx := range r.receivers {
		errs = errors.Join(errs, rx.(*endpointReceiver).release())
	}
	return errors.Join(errs, r.endpoint.Close())
}
