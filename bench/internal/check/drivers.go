// SPDX-License-Identifier: MIT

package check

// driver is what is known of a driver of the mainline kernel. A zero Version means
// that no released kernel can.
type driver struct {
	names    []string // as ethtool tells them
	native   Version  // XDP in the driver
	zeroCopy Version  // AF_XDP without copies
	note     string   // what else its users should know
	source   string
}

// Where the driver table is from.
const (
	fromEBPFDocs = "docs.ebpf.io, table of XDP drivers (July 2026)"
	fromCommits  = fromEBPFDocs + "; kernel commits"
)

// never is the version from which on a driver can that none can.
var never = Version{}

// drivers is in the order of the alphabet. Drivers that are not here are told about
// by the kernel alone.
var drivers = []driver{
	{names: []string{"am65-cpsw", "am65-cpsw-nuss"}, native: Version{6, 10}, note: "zero-copy is only in the vendor's kernel, on one port at a time", source: fromCommits},
	{names: []string{"atlantic"}, native: Version{5, 19}, source: fromEBPFDocs},
	{names: []string{"bcmgenet"}, note: "Raspberry Pi 4", source: fromCommits},
	{names: []string{"bnxt_en"}, native: Version{4, 11}, source: fromEBPFDocs},
	{names: []string{"bonding"}, native: Version{5, 15}, note: "native only if its members can; copies", source: fromEBPFDocs},
	{names: []string{"cpsw", "cpsw-switch"}, native: Version{5, 3}, source: fromEBPFDocs},
	{names: []string{"dpaa2-eth", "fsl_dpaa2_eth"}, native: Version{5, 0}, zeroCopy: Version{6, 2}, note: "zero-copy on chips of the LX2160A class", source: fromCommits},
	{names: []string{"ena"}, native: Version{5, 6}, note: "no packets of several buffers; the vendor's own driver has zero-copy", source: fromEBPFDocs},
	{names: []string{"fbnic"}, native: Version{6, 18}, source: fromEBPFDocs},
	{names: []string{"fec"}, native: Version{6, 2}, zeroCopy: Version{7, 0}, source: fromCommits},
	{names: []string{"fsl_dpa"}, native: Version{5, 11}, source: fromEBPFDocs},
	{names: []string{"fsl_enetc"}, native: Version{5, 13}, note: "zero-copy is only in the vendor's kernel", source: fromCommits},
	{names: []string{"funeth"}, native: Version{5, 18}, source: fromEBPFDocs},
	{names: []string{"gianfar", "ucc_geth", "fs_enet", "ibm_emac", "pasemi_mac"}, note: "PowerPC", source: "kernel sources"},
	{names: []string{"gve"}, native: Version{6, 4}, zeroCopy: Version{6, 4}, source: fromEBPFDocs},
	{names: []string{"hv_netvsc"}, native: Version{5, 6}, source: fromEBPFDocs},
	{names: []string{"i40e"}, native: Version{4, 13}, zeroCopy: Version{4, 20}, source: fromEBPFDocs},
	{names: []string{"ibmveth", "ibmvnic"}, note: "POWER partitions", source: "kernel sources"},
	{names: []string{"ice"}, native: Version{5, 5}, zeroCopy: Version{5, 5}, source: fromEBPFDocs},
	{names: []string{"icssg-prueth"}, native: Version{6, 15}, zeroCopy: Version{6, 19}, source: fromCommits},
	{names: []string{"idpf"}, native: Version{6, 18}, zeroCopy: Version{6, 18}, source: fromEBPFDocs},
	{names: []string{"igb"}, native: Version{5, 10}, zeroCopy: Version{6, 14}, source: fromEBPFDocs},
	{names: []string{"igc"}, native: Version{5, 13}, zeroCopy: Version{5, 14}, source: fromEBPFDocs},
	{names: []string{"ionic"}, native: Version{6, 9}, source: fromEBPFDocs},
	{names: []string{"ixgbe"}, native: Version{4, 12}, zeroCopy: Version{4, 20}, note: "attaching a program takes the link down for seconds", source: fromEBPFDocs + "; github.com/atoonk/go-pktgen#3"},
	{names: []string{"ixgbevf"}, native: Version{4, 17}, note: "refuses programs at MTU 9000", source: fromEBPFDocs + "; github.com/xdp-project/xdp-tools#327"},
	{names: []string{"lan78xx", "r8152", "r8169"}, note: "many small boards and USB adapters", source: "kernel sources"},
	{names: []string{"lan966x-switch"}, native: Version{6, 2}, source: fromEBPFDocs},
	{names: []string{"macb"}, note: "Zynq, SAMA5, Raspberry Pi 5, PolarFire", source: fromCommits},
	{names: []string{"mana"}, native: Version{5, 17}, source: fromEBPFDocs},
	{names: []string{"mlx4_en"}, native: Version{4, 8}, source: fromEBPFDocs},
	{names: []string{"mlx5_core"}, native: Version{4, 9}, zeroCopy: Version{5, 3}, source: fromEBPFDocs},
	{names: []string{"mtk_soc_eth"}, native: Version{6, 0}, source: fromEBPFDocs},
	{names: []string{"mvneta"}, native: Version{5, 5}, source: fromEBPFDocs},
	{names: []string{"mvpp2"}, native: Version{5, 9}, source: fromEBPFDocs},
	{names: []string{"netsec"}, native: Version{5, 3}, source: fromEBPFDocs},
	{names: []string{"nfp"}, native: Version{4, 10}, zeroCopy: Version{5, 18}, source: fromEBPFDocs},
	{names: []string{"nicvf", "thunder-nicvf"}, native: Version{4, 12}, source: fromEBPFDocs},
	{names: []string{"qede"}, native: Version{4, 10}, source: fromEBPFDocs},
	{names: []string{"rvu_nicpf", "rvu-nicpf", "rvu_nicvf", "rvu-nicvf"}, native: Version{5, 16}, zeroCopy: Version{6, 15}, source: fromCommits},
	{names: []string{"sfc"}, native: Version{5, 5}, source: fromEBPFDocs},
	{names: []string{"stmmac", "st_gmac"}, native: Version{5, 13}, zeroCopy: Version{5, 13}, source: fromEBPFDocs},
	{names: []string{"tsnep"}, native: Version{6, 3}, zeroCopy: Version{6, 4}, source: fromEBPFDocs},
	{names: []string{"tun"}, native: Version{4, 14}, source: fromEBPFDocs},
	{names: []string{"veth"}, native: Version{4, 19}, note: "a pair of interfaces in memory has no device that could read the area", source: fromEBPFDocs},
	{names: []string{"virtio_net"}, native: Version{4, 10}, zeroCopy: Version{6, 11}, note: "zero-copy transmits since 6.13, and the host must offer what it needs", source: fromEBPFDocs},
	{names: []string{"vmxnet3"}, native: Version{6, 6}, source: fromEBPFDocs},
	{names: []string{"xen_netfront", "vif"}, native: Version{5, 9}, source: fromEBPFDocs},
}

// lookup finds a driver by its name.
func lookup(name string) (driver, bool) {
	for _, d := range drivers {
		for _, n := range d.names {
			if n == name {
				return d, true
			}
		}
	}
	return driver{}, false
}

// has tells whether a kernel of that version has what came with since.
func (v Version) has(since Version) bool { return since != never && !v.Before(since) }
