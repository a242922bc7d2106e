// SPDX-License-Identifier: MIT

package gv

// ControlPort is the UDP port of every camera for commands.
const ControlPort = 3956

// Bootstrap registers: those that every camera has, at the same address. The names
// are the usual ones; each is 4 bytes unless it says otherwise.
const (
	RegVersion      = 0x0000 // major in the high half, minor in the low
	RegDeviceMode   = 0x0004
	RegMACHigh      = 0x0008 // its first two bytes
	RegMACLow       = 0x000c
	RegIPOptions    = 0x0010 // ways to get an address that it supports
	RegIPConfig     = 0x0014 // and uses
	RegIP           = 0x0024
	RegMask         = 0x0034
	RegGateway      = 0x0044
	RegManufacturer = 0x0048 // text, 32 bytes
	RegModel        = 0x0068 // text, 32
	RegDevice       = 0x0088 // text, 32: its version
	RegInfo         = 0x00a8 // text, 48
	RegSerial       = 0x00d8 // text, 16
	RegUserName     = 0x00e8 // text, 16
	RegURL          = 0x0200 // text, 512: where its XML is
	RegURL2         = 0x0400 // text, 512
	RegInterfaces   = 0x0600
	RegMessages     = 0x0900 // number of message channels
	RegStreams      = 0x0904 // number of stream channels
	RegGVSPCap      = 0x092c // stream capabilities
	RegGVCPCap      = 0x0934 // control capabilities
	RegHeartbeat    = 0x0938 // milliseconds without a command that end control
	RegTicksHigh    = 0x093c // of the clock of timestamps, a second
	RegTicksLow     = 0x0940
	RegTimeControl  = 0x0944
	RegTimeHigh     = 0x0948
	RegTimeLow      = 0x094c
	RegGVSPConfig   = 0x0960
	RegCCP          = 0x0a00 // who is in control
	RegControlPort  = 0x0a04 // of whoever is in control
	RegControlIP    = 0x0a14

	// Of stream channel 0; those of the next are 0x40 further.
	RegSCP   = 0x0d00 // port of the receiver; 0 closes the channel
	RegSCPS  = 0x0d04 // packet size
	RegSCPD  = 0x0d08 // ticks from packet to packet
	RegSCDA  = 0x0d18 // address of the receiver
	RegSCSP  = 0x0d1c // port that the stream comes from
	RegSCC   = 0x0d20 // capabilities of the channel
	RegSCCFG = 0x0d24 // configuration of the channel
)

// DiscoveryLen is how many bytes of registers a discovery is answered with.
const DiscoveryLen = 0x00f8

// Bits of registers.
const (
	ModeBigEndian = 1 << 31 // RegDeviceMode
	ModeUTF8      = 1       // RegDeviceMode: the character set of texts

	GVCPCapUserName    = 1 << 31 // RegGVCPCap
	GVCPCapSerial      = 1 << 30
	GVCPCapConcatenate = 1 << 0 // several registers in one command
	GVCPCapWriteMem    = 1 << 1
	GVCPCapResend      = 1 << 2

	GVSPCapSourcePort = 1 << 31 // RegGVSPCap
	GVSPCapLegacyIDs  = 1 << 30 // it has standard ids too
	GVSPConfigID64    = 1 << 30 // RegGVSPConfig: extended ids

	CCPExclusive = 1 << 0 // RegCCP: and nobody else may even read
	CCPControl   = 1 << 1

	SCPSFireTest    = 1 << 31 // RegSCPS: send a test packet, once
	SCPSDontFrag    = 1 << 30
	SCPSBigEndian   = 1 << 29 // pixels of more than a byte
	SCPSSize        = 0xffff  // the size itself
	TimeLatch       = 1 << 1  // RegTimeControl
	TimeReset       = 1 << 0
	IPOptionsStatic = 1 << 0 // RegIPOptions, RegIPConfig
	IPOptionsDHCP   = 1 << 1
	IPOptionsLLA    = 1 << 2
)
