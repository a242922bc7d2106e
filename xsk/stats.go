// SPDX-License-Identifier: MIT

package xsk

// Stats reads the socket's counters. It works after Close too, which keeps the
// last values. The kernel is asked each time: not for the data path.
//
// Errors: that the kernel did not answer; the counters of our own are valid then
// all the same.
func (s *Socket) Stats() (Stats, error) {
	var st Stats
	var k kernelStats
	var err error

	s.rxMu.Lock()
	open := !s.closed.Load()
	if open {
		k, err = s.os.statistics()
		if s.rx != nil {
			st.RxUsed = s.rx.Len()
		}
	} else {
		k = s.last
	}
	r := s.rxN
	s.rxMu.Unlock()
	st.RxFrames, st.RxPackets, st.RxBytes = r.frames, r.packets, r.bytes
	st.RxWakeups, st.Invalid = r.wakeups, r.invalid
	waits := s.rxWait.Stats()
	st.Sleeps, st.Naps = waits.Sleeps, waits.Naps

	s.txMu.Lock()
	if s.tx != nil && !s.closed.Load() {
		st.TxUsed = s.tx.Pending()
	}
	t := s.txN
	s.txMu.Unlock()
	st.TxFrames, st.TxPackets, st.TxBytes = t.frames, t.packets, t.bytes
	st.TxWakeups, st.TxLost = t.wakeups, t.lost

	s.rings.gauges(&st)
	st.RxDropped, st.RxInvalid, st.TxInvalid = k.rxDropped, k.rxInvalid, k.txInvalid
	st.RxRingFull, st.RxFillEmpty, st.TxRingDrained = k.rxRingFull, k.rxFillEmpty, k.txRingEmpty
	if s.info.MultiBuffer && s.info.Mode == Copy {
		// No packet is too big, and one for which there are some chunks but
		// too few is not in the kernel's own count (xp_can_alloc,
		// net/xdp/xsk_buff_pool.c).
		st.RxFillEmpty = max(st.RxFillEmpty, st.RxDropped)
	}
	if err != nil {
		err = s.errorf("statistics", err)
	}
	return st, err
}

// gauges adds what the pair knows.
func (p *pair) gauges(st *Stats) {
	p.fillMu.Lock()
	if p.fill != nil {
		st.FillUsed = p.fill.Pending()
	}
	p.fillMu.Unlock()
	p.doneMu.Lock()
	if p.done != nil {
		st.DoneUsed = p.done.Len()
	}
	st.TxCompleted = p.completed
	st.Invalid += p.invalid
	p.doneMu.Unlock()
}
