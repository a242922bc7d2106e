// SPDX-License-Identifier: MIT

// Package vm runs the compiled program without a kernel, so that the object of
// either byte order can be tested on any machine: a little-endian host runs the
// code that a PowerPC or s390x kernel would.
//
// It knows the instructions and helpers that this program uses, checks every
// memory access, and is no verifier.
package vm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// Machine is a program with its tables. The zero tables are empty.
type Machine struct {
	Order    binary.ByteOrder // that the program was compiled for
	Filters  map[string]bool  // by the bytes of the key
	Own      [][]byte         // 8 bytes each: MAC address, stamp
	Sockets  map[int]bool     // by queue
	Counters [][]byte         // 8 bytes each, in Order
	Driver   Driver

	// Front is what the last run put in front of the frame.
	Front []byte

	code  []asm.Instruction
	slots map[int]int // from instruction slot (jumps count in these) to index
	start []int       // the reverse
}

// Driver answers the calls into the driver. What is nil it does not know.
type Driver struct {
	Timestamp *uint64
	Hash      *[2]uint32 // with its type
	VLAN      *VLAN
	NoRoom    bool // for metadata
	Own       int  // bytes of the driver's own metadata
}

// VLAN is a tag that was taken out of a frame.
type VLAN struct {
	Proto [2]byte // network order
	TCI   uint16
}

// Load prepares a program; jumps count in slots of 8 bytes, of which a 64-bit
// constant takes two.
func (m *Machine) Load(code asm.Instructions) {
	m.code, m.slots = code, map[int]int{}
	iter := code.Iterate()
	for iter.Next() {
		m.slots[int(iter.Offset)] = len(m.start)
		m.start = append(m.start, int(iter.Offset))
	}
}

// run is one execution.
type run struct {
	*Machine
	regs    [11]uint64
	regions [][]byte // an address is (index + 1) << 32 + offset
	queue   int
	length  int // of the frame
	meta    int // where metadata begins, in the region of the frame
}

// The first regions; map values follow.
const (
	regionContext = iota
	regionFrame
	regionStack
)

const stackSize = 512

// headroom is what lies in front of a frame (XDP_PACKET_HEADROOM).
const headroom = 256

func address(region int) uint64 { return uint64(region+1) << 32 }

// Run gives the program's verdict on a frame that lies in one buffer.
func (m *Machine) Run(frame []byte, queue int) (uint64, error) {
	r := &run{Machine: m, queue: queue, length: len(frame), meta: headroom - m.Driver.Own}
	r.regions = [][]byte{nil, append(make([]byte, headroom), frame...), make([]byte, stackSize)}
	m.Front = nil
	r.regs[asm.R1] = address(regionContext)
	r.regs[asm.RFP] = address(regionStack) + stackSize
	const limit = 10_000 // the program has no loops
	at := 0
	for range limit {
		if at < 0 || at >= len(m.code) {
			return 0, fmt.Errorf("vm: jump out of the program")
		}
		ins := &m.code[at]
		if ins.OpCode.JumpOp() == asm.Exit {
			m.Front = r.regions[regionFrame][r.meta:headroom]
			return r.regs[asm.R0], nil
		}
		next, err := r.step(ins, at)
		if err != nil {
			return 0, fmt.Errorf("vm: instruction %d (%v): %w", m.start[at], ins, err)
		}
		at = next
	}
	return 0, errors.New("vm: endless loop")
}

// step executes one instruction and gives the index of the next.
func (r *run) step(ins *asm.Instruction, at int) (int, error) {
	switch class := ins.OpCode.Class(); {
	case class.IsALU():
		return at + 1, r.alu(ins)
	case class == asm.JumpClass && ins.OpCode.JumpOp() == asm.Call:
		return at + 1, r.call(ins.Constant)
	case class == asm.JumpClass:
		jump, err := r.condition(ins)
		if err != nil || !jump {
			return at + 1, err
		}
		to, ok := r.slots[r.start[at]+1+int(ins.Offset)]
		if !ok {
			return 0, errors.New("jump into the middle of an instruction")
		}
		return to, nil
	case ins.OpCode.IsDWordLoad():
		r.regs[ins.Dst] = uint64(ins.Constant)
		if name := ins.Reference(); name != "" {
			r.regs[ins.Dst] = mapHandle(name)
		}
		return at + 1, nil
	case class == asm.LdXClass:
		return at + 1, r.load(ins)
	case class == asm.StXClass, class == asm.StClass:
		return at + 1, r.store(ins)
	}
	return 0, errors.New("unknown instruction")
}

// operand is the second one: a register or the sign-extended constant.
func (r *run) operand(ins *asm.Instruction) uint64 {
	if ins.OpCode.Source() == asm.RegSource {
		return r.regs[ins.Src]
	}
	return uint64(ins.Constant)
}

func (r *run) alu(ins *asm.Instruction) error {
	dst, src := &r.regs[ins.Dst], r.operand(ins)
	narrow := ins.OpCode.Class() == asm.ALUClass
	switch ins.OpCode.ALUOp() {
	case asm.Mov:
		*dst = src
	case asm.Add:
		*dst += src
	case asm.Sub:
		*dst -= src
	case asm.Or:
		*dst |= src
	case asm.And:
		*dst &= src
	case asm.Xor:
		*dst ^= src
	case asm.LSh:
		*dst <<= src & 63
	case asm.RSh:
		*dst >>= src & 63
	case asm.Swap:
		return r.swap(dst, ins)
	default:
		return errors.New("unknown operation")
	}
	if narrow {
		return errors.New("32-bit operation, which -mcpu=v2 does not make")
	}
	return nil
}

// swap converts to big or little endian, which is nothing on a machine of that kind.
func (r *run) swap(dst *uint64, ins *asm.Instruction) error {
	var to binary.ByteOrder = binary.LittleEndian
	if ins.OpCode.Endianness() == asm.BE {
		to = binary.BigEndian
	}
	b := make([]byte, ins.Constant/8)
	if err := write(to, b, *dst); err != nil {
		return err
	}
	v, err := read(r.Order, b)
	*dst = v
	return err
}

func (r *run) condition(ins *asm.Instruction) (bool, error) {
	a, b := r.regs[ins.Dst], r.operand(ins)
	switch ins.OpCode.JumpOp() {
	case asm.Ja:
		return true, nil
	case asm.JEq:
		return a == b, nil
	case asm.JNE:
		return a != b, nil
	case asm.JGT:
		return a > b, nil
	case asm.JGE:
		return a >= b, nil
	case asm.JLT:
		return a < b, nil
	case asm.JLE:
		return a <= b, nil
	case asm.JSet:
		return a&b != 0, nil
	case asm.JSGT:
		return int64(a) > int64(b), nil
	case asm.JSGE:
		return int64(a) >= int64(b), nil
	case asm.JSLT:
		return int64(a) < int64(b), nil
	case asm.JSLE:
		return int64(a) <= int64(b), nil
	}
	return false, errors.New("unknown jump")
}
