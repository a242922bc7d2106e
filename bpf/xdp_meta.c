// SPDX-License-Identifier: (GPL-2.0-only OR MIT)

//go:build ignore

/* Does what xdp.c does, and writes what the driver knows of a frame in front of each
 * frame that it hands to a socket. The kernel loads it for one device, whose driver it calls.
 *
 * Each frame to a socket carries a block that was written for it, or is not handed to
 * a socket: with the stamp, which no other program's block has, this is what lets the
 * reader tell the block from whatever an earlier frame left in the chunk.
 */
#include "decide.h"

/* What the driver told. The numbers are the kernel's (enum netdev_xdp_rx_metadata). */
enum { HAS_TIMESTAMP = 1, HAS_HASH = 2, HAS_VLAN = 4 };

/* Calls into the driver. A kernel function is called by its number in the running
 * kernel's BTF: the loader puts it in place of these numbers, and a plain "not
 * supported" where the kernel lacks the function. So this object needs no BTF.
 */
static int (*rx_timestamp)(struct xdp_md *ctx, u64 *timestamp) = (void *)0x0d0a0001;      /* 6.3 */
static int (*rx_hash)(struct xdp_md *ctx, u32 *hash, u32 *type) = (void *)0x0d0a0002;     /* 6.3 */
static int (*rx_vlan_tag)(struct xdp_md *ctx, be16 *proto, u16 *tci) = (void *)0x0d0a0003; /* 6.8 */

/* What lies in front of the frame, in the machine's byte order except vlan_proto; the
 * reader is in metadata.go. 32 bytes are the most that older kernels allow. A frame may
 * begin at an odd multiple of 2, and so may the block.
 */
struct block {
	u64 stamp;
	u32 fields, hash, hash_type;
	be16 vlan_proto;
	u16 vlan_tci;
	u64 timestamp;
} __attribute__((packed, aligned(2)));

/* Asks the driver. What it does not tell stays zero. */
INLINE void ask(struct xdp_md *ctx, struct block *b)
{
	u64 timestamp = 0;
	u32 hash = 0, type = 0;
	u16 proto = 0, tci = 0;

	b->fields = 0;
	/* veth says 0 for a frame without a hardware timestamp. */
	if (!rx_timestamp(ctx, &timestamp) && timestamp)
		b->fields |= HAS_TIMESTAMP;
	if (!rx_hash(ctx, &hash, &type))
		b->fields |= HAS_HASH;
	if (!rx_vlan_tag(ctx, &proto, &tci))
		b->fields |= HAS_VLAN;
	b->timestamp = timestamp;
	b->hash = hash;
	b->hash_type = type;
	b->vlan_proto = proto;
	b->vlan_tci = tci;
}

/* Puts the block right in front of the frame. Fails where the driver has no room for
 * it, or metadata of its own there.
 */
INLINE int describe(struct xdp_md *ctx)
{
	struct block told, *at;
	void *frame;
	u32 index = OWN_STAMP;
	u64 *stamp = map_lookup(&own, &index);

	if (!stamp)
		return 0;
	ask(ctx, &told);
	told.stamp = *stamp;
	if (adjust_meta(ctx, -(long)sizeof(told)))
		return 0;
	at = (void *)(long)ctx->data_meta;
	frame = (void *)(long)ctx->data;
	/* Equal, in the comparisons that the verifier lets everybody make. */
	if ((void *)(at + 1) > frame || (void *)(at + 1) + 1 <= frame)
		return 0;
	*at = told;
	return 1;
}

/* From Linux 6.3 on, in native mode. */
SEC("xdp") int xdpath_meta(struct xdp_md *ctx)
{
	enum reason why;
	int verdict = steer(ctx, get_buff_len(ctx), &why);

	if (verdict == XDP_REDIRECT && !describe(ctx)) {
		verdict = XDP_PASS;
		why = NO_ROOM;
	}
	count(why);
	return verdict;
}

char _license[] SEC("license") = "Dual MIT/GPL";
