// SPDX-License-Identifier: MIT

package device

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdpath/xdpath/examples/camera/gv"
)

// played is what control asked to be done.
type played struct {
	log   []string
	most  int
	fails bool
}

func (p *played) note(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

func (p *played) aim(dst netip.AddrPort) {}
func (p *played) mtu() int               { return p.most }
func (p *played) stop()                  { p.note("stop") }
func (p *played) change(s settings)      { p.note("change %v %v", s.period(), s.gap) }
func (p *played) resend(r gv.Resend)     { p.note("resend %d %d-%d", r.Block, r.First, r.Last) }

func (p *played) start(s settings) error {
	p.note("start %dx%d %v", s.width, s.height, s.format)
	if p.fails {
		return errors.New("no")
	}
	return nil
}

func (p *played) test(n int) error {
	p.note("test %d", n)
	return nil
}

var (
	alice = netip.MustParseAddrPort("10.9.0.2:4000")
	bob   = netip.MustParseAddrPort("10.9.0.3:4000")
)

// bench is a control with its surroundings, and a clock.
type bench struct {
	*control
	t    testing.TB
	do   *played
	now  time.Time
	id   uint16
	from netip.AddrPort
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, do: &played{most: 1500}, now: time.Unix(1e9, 0), from: alice}
	cfg := Config{Interface: "test"}.withDefaults(1500)
	b.control = newControl(b.do, gv.Identity{IP: netip.MustParseAddr("10.9.0.1"), Serial: "7"}, cfg.settings(), b.now)
	return b
}

// send sends a command as the one whose turn it is.
func (b *bench) send(k gv.Kind, flags uint8, body []byte) []byte {
	b.id++
	return b.answer(nil, b.from, gv.AppendCommand(nil, gv.Command{Flags: flags, Kind: k, ID: b.id, Body: body}), b.now)
}

// ask sends a command and reads the answer.
func (b *bench) ask(k gv.Kind, body []byte) gv.Ack {
	b.t.Helper()
	a, err := gv.ParseAck(b.send(k, gv.FlagAck, body))
	if err != nil || a.ID != b.id || a.Kind != k.Ack() {
		b.t.Fatalf("answer to %v: %+v, %v", k, a, err)
	}
	return a
}

func (b *bench) write(at, v uint32) gv.Status {
	b.t.Helper()
	return b.ask(gv.WriteReg, gv.AppendWrites(nil, gv.Write{Address: at, Value: v})).Status
}

func (b *bench) read(at uint32) uint32 {
	b.t.Helper()
	a := b.ask(gv.ReadReg, gv.AppendWords(nil, at))
	words, err := gv.ParseWords(a.Body)
	if a.Status != gv.OK || err != nil || len(words) != 1 {
		b.t.Fatalf("register %#x: %v, %x", at, a.Status, a.Body)
	}
	return words[0]
}

// want checks the status of writes, in their order.
func (b *bench) want(status gv.Status, writes ...gv.Write) {
	b.t.Helper()
	for _, w := range writes {
		if got := b.write(w.Address, w.Value); got != status {
			b.t.Errorf("write %#x = %#x: %v, want %v", w.Address, w.Value, got, status)
		}
	}
}

// open takes control and opens the stream channel.
func (b *bench) open() {
	b.t.Helper()
	b.want(gv.OK, gv.Write{Address: gv.RegCCP, Value: gv.CCPControl}, gv.Write{Address: gv.RegSCDA, Value: 0x0a090002}, gv.Write{Address: gv.RegSCP, Value: 5000})
}

func TestDiscovery(t *testing.T) {
	b := newBench(t)
	a := b.ask(gv.Discovery, nil)
	id, err := gv.ParseIdentity(a.Body)
	if err != nil || a.Status != gv.OK || id.Serial != "7" || id.IP.String() != "10.9.0.1" {
		t.Errorf("%+v, %v", id, err)
	}
	if got := b.send(gv.Discovery, 0, nil); got != nil {
		t.Errorf("answered %x though nobody asked for an answer", got)
	}
}

// Who has control writes; others read, unless control is exclusive; nobody writes
// while nobody has control.
func TestPrivilege(t *testing.T) {
	b := newBench(t)
	width := gv.Write{Address: regWidth, Value: 640}
	b.want(gv.AccessDenied, width)
	b.want(gv.InvalidParameter, gv.Write{Address: gv.RegCCP, Value: 4})
	b.want(gv.OK, gv.Write{Address: gv.RegCCP, Value: gv.CCPControl}, width)

	b.from = bob
	b.want(gv.AccessDenied, width, gv.Write{Address: gv.RegCCP, Value: gv.CCPControl}, gv.Write{Address: gv.RegCCP})
	if got := b.read(regWidth); got != 640 {
		t.Errorf("bob reads width %d", got)
	}
	b.from = alice
	b.want(gv.OK, gv.Write{Address: gv.RegCCP, Value: gv.CCPExclusive})
	b.from = bob
	for k, body := range map[gv.Kind][]byte{gv.ReadReg: gv.AppendWords(nil, regWidth), gv.ReadMem: gv.AppendSpan(nil, gv.Span{Address: xmlBase, Count: 4})} {
		if got := b.ask(k, body).Status; got != gv.AccessDenied {
			t.Errorf("while control is exclusive, bob's %#x: %v", k, got)
		}
	}
	if got := b.ask(gv.Discovery, nil).Status; got != gv.OK {
		t.Errorf("while control is exclusive, bob's discovery: %v", got)
	}
	// Another port of alice's is somebody else.
	b.from = netip.AddrPortFrom(alice.Addr(), 4001)
	b.want(gv.AccessDenied, width)
	b.from = alice
	b.want(gv.OK, gv.Write{Address: gv.RegCCP})
	b.from = bob
	b.want(gv.OK, gv.Write{Address: gv.RegCCP, Value: gv.CCPControl}, width)
	if got := b.read(gv.RegControlIP); got != 0x0a090003 {
		t.Errorf("control is of %#x", got)
	}
}

// Without a command for as long as the heartbeat's timeout, control ends, and with it
// the stream. Any command of the owner keeps it, and nobody else's.
func TestHeartbeat(t *testing.T) {
	b := newBench(t)
	b.open()
	b.want(gv.OK, gv.Write{Address: regAcquisition, Value: 1})
	pass := func(d time.Duration) { b.now = b.now.Add(d); b.expire(b.now) }
	for range 5 {
		pass(2900 * time.Millisecond)
		b.read(gv.RegCCP)
	}
	pass(10 * time.Second) // the camera was not running, and could not hear
	b.from = bob
	pass(2900 * time.Millisecond)
	b.read(gv.RegCCP)
	if b.owner != alice || !b.streaming {
		t.Fatal("control was lost in time")
	}
	pass(100 * time.Millisecond)
	if b.owner.IsValid() || b.streaming || b.get(gv.RegSCP) != 0 || b.get(gv.RegCCP) != 0 || b.counts.Heartbeats != 1 {
		t.Errorf("owner %v, streaming %v", b.owner, b.streaming)
	}
	if want := "stop"; b.do.log[len(b.do.log)-1] != want {
		t.Errorf("log %q, want %q at its end", b.do.log, want)
	}
	b.want(gv.OK, gv.Write{Address: gv.RegCCP, Value: gv.CCPControl}, gv.Write{Address: gv.RegHeartbeat, Value: 1})
	if got := b.read(gv.RegHeartbeat); got != minHeartbeat {
		t.Errorf("heartbeat %d ms", got)
	}
}

// What images are like cannot change while they are sent; how often they come can.
func TestSettings(t *testing.T) {
	b := newBench(t)
	b.want(gv.OK, gv.Write{Address: gv.RegCCP, Value: gv.CCPControl})
	b.want(gv.WrongConfig, gv.Write{Address: regAcquisition, Value: 1}) // to whom?
	b.open()
	shape := []gv.Write{
		{Address: regWidth, Value: 640}, {Address: regHeight, Value: 480}, {Address: regFormat, Value: uint32(gv.RGB8)},
		{Address: gv.RegSCPS, Value: 1000}, {Address: gv.RegGVSPConfig, Value: gv.GVSPConfigID64}, {Address: gv.RegSCDA, Value: 0x0a090002},
	}
	b.want(gv.OK, shape...)
	if got := b.read(regPayloadSize); got != 640*480*3 {
		t.Errorf("payload size %d", got)
	}
	b.want(gv.InvalidParameter, gv.Write{Address: regWidth, Value: 641}, gv.Write{Address: regWidth}, gv.Write{Address: regWidth, Value: 1284},
		gv.Write{Address: regHeight, Value: 1026}, gv.Write{Address: regFormat, Value: uint32(gv.BGR8)}, gv.Write{Address: regRate},
		gv.Write{Address: gv.RegSCPS, Value: 100}, gv.Write{Address: gv.RegSCPS, Value: 20000})
	b.want(gv.OK, gv.Write{Address: regAcquisition, Value: 1}, gv.Write{Address: regAcquisition, Value: 1})
	b.want(gv.Busy, shape...)
	b.want(gv.Busy, gv.Write{Address: gv.RegSCP, Value: 5001}, gv.Write{Address: gv.RegTimeControl, Value: gv.TimeReset})
	b.want(gv.OK, gv.Write{Address: regRate, Value: 100_000}, gv.Write{Address: gv.RegSCPD, Value: 20_000}, gv.Write{Address: gv.RegSCP, Value: 5000},
		gv.Write{Address: regAcquisition}, shape[0])
	want := []string{"start 640x480 RGB8", "change 10ms 0s", "change 10ms 20µs", "stop"}
	if !slices.Equal(b.do.log, want) {
		t.Errorf("\ngot  %q\nwant %q", b.do.log, want)
	}
	b.do.fails = true
	b.want(gv.Failed, gv.Write{Address: regAcquisition, Value: 1})
	if b.read(regAcquisition) != 0 {
		t.Error("it did not start, and says that it has")
	}
	// Closing the channel ends the stream.
	b.do.fails = false
	b.want(gv.OK, gv.Write{Address: regAcquisition, Value: 1}, gv.Write{Address: gv.RegSCP})
	if b.streaming || b.target().IsValid() {
		t.Error("it streams to a closed channel")
	}
}

// Nothing is sent with a size over the MTU (case 126).
func TestPacketSize(t *testing.T) {
	b := newBench(t)
	b.want(gv.OK, gv.Write{Address: gv.RegCCP, Value: gv.CCPControl})
	b.want(gv.WrongConfig, gv.Write{Address: gv.RegSCPS, Value: gv.SCPSFireTest | 1500}) // to whom?
	b.open()
	b.want(gv.OK, gv.Write{Address: gv.RegSCPS, Value: gv.SCPSFireTest | gv.SCPSDontFrag | 1500}, gv.Write{Address: gv.RegSCPS, Value: 1504})
	if got := b.read(gv.RegSCPS); got != 1504 {
		t.Errorf("size %#x", got)
	}
	b.want(gv.WrongConfig, gv.Write{Address: gv.RegSCPS, Value: gv.SCPSFireTest | 1504}, gv.Write{Address: regAcquisition, Value: 1})
	b.do.most = 9000
	b.want(gv.OK, gv.Write{Address: gv.RegSCPS, Value: gv.SCPSFireTest | 9000})
	b.do.most = 1500 // the link changes
	b.want(gv.WrongConfig, gv.Write{Address: regAcquisition, Value: 1})
	if want := []string{"test 1472", "test 8972"}; !slices.Equal(b.do.log, want) {
		t.Errorf("got %q, want %q", b.do.log, want)
	}
}

// Commands that are wrong are answered with what is wrong about them, or not at all.
func TestWrongCommands(t *testing.T) {
	b := newBench(t)
	b.open()
	for _, c := range []struct {
		name string
		kind gv.Kind
		body []byte
		want gv.Status
	}{
		{"no addresses", gv.ReadReg, nil, gv.InvalidHeader},
		{"half an address", gv.ReadReg, []byte{0, 0}, gv.InvalidHeader},
		{"unaligned", gv.ReadReg, gv.AppendWords(nil, 2), gv.BadAlignment},
		{"no such register", gv.ReadReg, gv.AppendWords(nil, 0, 0x8000), gv.InvalidAddress},
		{"behind the last byte", gv.ReadReg, gv.AppendWords(nil, 0xfffffffc), gv.InvalidAddress},
		{"no such register to write", gv.WriteReg, gv.AppendWrites(nil, gv.Write{Address: 0x8000}), gv.InvalidAddress},
		{"unaligned to write", gv.WriteReg, gv.AppendWrites(nil, gv.Write{Address: 0xd02}), gv.BadAlignment},
		{"read only", gv.WriteReg, gv.AppendWrites(nil, gv.Write{Address: gv.RegVersion}), gv.WriteProtect},
		{"half a write", gv.WriteReg, gv.AppendWords(nil, gv.RegCCP), gv.InvalidHeader},
		{"too much memory", gv.ReadMem, gv.AppendSpan(nil, gv.Span{Address: 0, Count: 540}), gv.InvalidParameter},
		{"no memory", gv.ReadMem, gv.AppendSpan(nil, gv.Span{Address: 0, Count: 0}), gv.InvalidParameter},
		{"memory unaligned", gv.ReadMem, gv.AppendSpan(nil, gv.Span{Address: 1, Count: 4}), gv.BadAlignment},
		{"beyond the XML", gv.ReadMem, gv.AppendSpan(nil, gv.Span{Address: xmlBase + uint32(len(description))&^3, Count: 8}), gv.InvalidAddress},
		{"write nothing", gv.WriteMem, gv.AppendWords(nil, gv.RegUserName), gv.InvalidHeader},
		{"write a byte", gv.WriteMem, gv.AppendMemory(nil, gv.RegUserName, []byte{1}), gv.BadAlignment},
		{"write the XML", gv.WriteMem, gv.AppendMemory(nil, xmlBase, []byte("<!--")), gv.WriteProtect},
		{"no such command", 0x00fe, nil, gv.NotImplemented},
	} {
		if got := b.ask(c.kind, c.body).Status; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	for name, datagram := range map[string][]byte{
		"empty":         nil,
		"another key":   {0x41, 1, 0, 2, 0, 0, 0, 1},
		"id 0":          {0x42, 1, 0, 2, 0, 0, 0, 0},
		"a force of IP": gv.AppendCommand(nil, gv.Command{Flags: gv.FlagAck, Kind: gv.ForceIP, ID: 1, Body: make([]byte, 56)}),
		"an ack":        gv.AppendAck(nil, gv.Ack{Kind: gv.Discovery.Ack(), ID: 1}),
	} {
		if got := b.answer(nil, alice, datagram, b.now); got != nil {
			t.Errorf("%s: answered %x", name, got)
		}
	}
	// Too short for what it says, and answered all the same.
	got, err := gv.ParseAck(b.answer(nil, alice, []byte{0x42, 1, 0, 0x80, 0, 4, 0, 9}, b.now))
	if err != nil || got.Status != gv.InvalidHeader || got.ID != 9 {
		t.Errorf("cut short: %+v, %v", got, err)
	}
	// The index says how far it came.
	a := b.ask(gv.WriteReg, gv.AppendWrites(nil, gv.Write{Address: regWidth, Value: 320}, gv.Write{Address: 0}))
	if n, err := gv.ParseIndex(a.Body); a.Status != gv.WriteProtect || n != 1 || err != nil || b.read(regWidth) != 320 {
		t.Errorf("%v at %d, %v", a.Status, n, err)
	}
}

func TestUserName(t *testing.T) {
	b := newBench(t)
	b.open()
	if a := b.ask(gv.WriteMem, gv.AppendMemory(nil, gv.RegUserName, []byte("door\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))); a.Status != gv.OK {
		t.Fatal(a.Status)
	}
	if id, err := gv.ParseIdentity(b.ask(gv.Discovery, nil).Body); err != nil || id.Name != "door" {
		t.Errorf("%q, %v", id.Name, err)
	}
}

// Requests to resend come from the viewer's stream socket, another port than control's,
// but not from other hosts.
func TestResendRequests(t *testing.T) {
	b := newBench(t)
	body := make([]byte, 20)
	body = body[:gv.Resend{Block: 3, First: 1, Last: 2}.Put(body)]
	b.send(gv.ResendReq, 0, body)
	b.open()
	b.from = netip.AddrPortFrom(alice.Addr(), 5000)
	if got := b.send(gv.ResendReq, gv.FlagAck, body); got != nil {
		t.Errorf("answered %x", got)
	}
	b.from = bob
	b.send(gv.ResendReq, 0, body)
	if want := []string{"resend 3 1-2"}; !slices.Equal(b.do.log, want) {
		t.Errorf("got %q, want %q", b.do.log, want)
	}
}

// The XML can be read as viewers do, is well-formed, and has no address that is none.
func TestXML(t *testing.T) {
	b := newBench(t)
	url, _, _ := strings.Cut(string(b.ask(gv.ReadMem, gv.AppendSpan(nil, gv.Span{Address: gv.RegURL, Count: 512})).Body[4:]), "\x00")
	parts := strings.Split(url, ";")
	if len(parts) != 3 {
		t.Fatalf("URL %q", url)
	}
	at, err1 := strconv.ParseUint(parts[1], 16, 32)
	n, err2 := strconv.ParseUint(parts[2], 16, 32)
	if err1 != nil || err2 != nil || at != xmlBase {
		t.Fatalf("URL %q", url)
	}
	var text []byte
	for uint64(len(text)) < n {
		k := min(512, (n-uint64(len(text))+3)&^3)
		a := b.ask(gv.ReadMem, gv.AppendSpan(nil, gv.Span{Address: uint32(at) + uint32(len(text)), Count: int(k)}))
		if a.Status != gv.OK {
			t.Fatal(a.Status)
		}
		text = append(text, a.Body[4:]...)
	}
	text = text[:n]
	if !bytes.Equal(text, description) {
		t.Fatal("what is read is not the XML")
	}
	registers := 0
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if token == nil {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "Address" {
			var s string
			if err := d.DecodeElement(&s, &e); err != nil {
				t.Fatal(err)
			}
			at, err := strconv.ParseUint(s, 0, 32)
			if err != nil || at%4 != 0 || b.span(uint32(at), 4) == nil {
				t.Errorf("address %s: %v", s, err)
			}
			registers++
		}
	}
	if registers < 15 {
		t.Errorf("%d registers: not all", registers)
	}
}

// Whatever comes, it is answered in the format, if at all, with the command's id, and
// the registers stay such that a stream can be started with them.
func FuzzControl(f *testing.F) {
	for _, c := range []gv.Command{
		{Flags: gv.FlagAck, Kind: gv.ReadReg, ID: 1, Body: gv.AppendWords(nil, gv.RegCCP, gv.RegSCPS)},
		{Flags: gv.FlagAck, Kind: gv.WriteReg, ID: 1, Body: gv.AppendWrites(nil, gv.Write{Address: regWidth, Value: 64}, gv.Write{Address: regAcquisition, Value: 1})},
		{Flags: gv.FlagAck, Kind: gv.ReadMem, ID: 1, Body: gv.AppendSpan(nil, gv.Span{Address: xmlBase, Count: 512})},
		{Kind: gv.WriteMem, ID: 1, Body: gv.AppendMemory(nil, regWidth, []byte{0, 0, 0, 64, 0, 0, 0, 32})},
		{Kind: gv.ResendReq, ID: 1, Body: make([]byte, 12)},
		{Flags: gv.FlagAck, Kind: gv.ForceIP, ID: 1, Body: make([]byte, 56)},
	} {
		f.Add(gv.AppendCommand(nil, c), false)
	}
	f.Fuzz(func(t *testing.T, datagram []byte, stranger bool) {
		b := newBench(t)
		b.open()
		from := alice
		if stranger {
			from = bob
		}
		reply := b.answer(nil, from, datagram, b.now)
		c, _ := gv.ParseCommand(datagram)
		if reply != nil {
			a, err := gv.ParseAck(reply)
			if err != nil || c.ID == 0 || a.ID != c.ID || a.Kind != c.Kind.Ack() || !c.WantsAck() || len(reply) > gv.HeaderSize+gv.MaxBody {
				t.Fatalf("%x to %x: %v", reply, datagram, err)
			}
		}
		if stranger && (b.streaming || b.owner != alice) {
			t.Fatal("a stranger got hold of it")
		}
		s := b.settings()
		if _, err := (&Device{control: b.control}).newStream(s); err != nil || s.payload() < 1 || s.period() <= 0 || s.width*s.height*s.format.Bits()/8 > (Config{Width: 1280, Height: 1024}).place() {
			t.Fatalf("%+v: %v", s, err)
		}
	})
}
