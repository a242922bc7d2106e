module github.com/xdpath/xdpath/udp/interop

go 1.26.0

require (
	github.com/quic-go/quic-go v0.65.0
	github.com/xdpath/xdpath v0.0.0
)

require (
	github.com/cilium/ebpf v0.22.0 // indirect
	github.com/safchain/ethtool v0.7.0 // indirect
	github.com/vishvananda/netlink v1.3.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/xdpath/xdpath => ../..
