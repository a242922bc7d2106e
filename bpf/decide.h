/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */

/* The decision that both programs make, plain (xdp.c) and with metadata (xdp_meta.c),
 * and the tables that they share.
 *
 * The Go model in internal/model makes the same decision; a test holds them together.
 */
#ifndef XDPATH_DECIDE_H
#define XDPATH_DECIDE_H

#include "xdp.h"

enum { TYPE_IPV4 = 0x0800, TYPE_VLAN = 0x8100, TYPE_QINQ = 0x88a8, TYPE_IPV6 = 0x86dd };
enum { NEXT_HOP_BY_HOP = 0, PROTO_UDP = 17, NEXT_ROUTING = 43, NEXT_FRAGMENT = 44, NEXT_AUTH = 51, NEXT_DEST = 60, NEXT_MOBILITY = 135 };
enum { FRAGMENT_MASK = 0x3fff /* more-fragments bit and offset; not the reserved and don't-fragment bits */ };
enum { VLAN_ID_MASK = 0x0fff /* without priority and drop eligibility */ };

/* Why a frame went where it went. Same order as Counters in counters.go. */
enum reason {
	REDIRECTED,
	NO_SOCKET,
	NO_FILTER,
	OTHER_MAC,
	BROADCAST,
	NOT_UDP,
	OPTIONS,
	EXTENSION,
	FRAGMENT,
	VLAN,
	MALFORMED,
	NO_ROOM, /* xdp_meta.c only */
	REASONS,
};

/* What a filter is: all in network byte order, so that user space writes the same
 * bytes on every machine. A zero address means any unicast address of the family.
 */
struct key {
	be32 addr[4]; /* IPv4 in the first word */
	be16 port;
	be16 vlan;    /* 0: untagged or priority-tagged */
	u8 family;    /* 4 or 6 */
	u8 pad[3];
};

/* Written by user space only. */
struct map filters SEC("maps") = { BPF_MAP_TYPE_HASH, sizeof(struct key), 4, 1024, BPF_F_NO_PREALLOC };
/* Our MAC address, of which an update may be seen half done (such a frame passes to
 * the kernel), and the stamp of xdp_meta.c, which is there before the program is attached.
 */
enum { OWN_MAC, OWN_STAMP, OWN };
struct map own SEC("maps") = { BPF_MAP_TYPE_ARRAY, 4, 8, OWN, 0 };
/* AF_XDP sockets by queue; user space sets the size. The kernel removes a socket when it closes. */
struct map queues SEC("maps") = { BPF_MAP_TYPE_XSKMAP, 4, 4, 64, 0 };
/* By reason, for each CPU. XDP does not nest on a CPU, so a plain add is enough. */
struct map counters SEC("maps") = { BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(u64), REASONS, 0 };

/* A frame on its way through the headers. The headers must lie in [at, end), the first
 * buffer; left counts the bytes from at to the end of the frame, over all its buffers.
 */
struct cursor {
	void *at, *end;
	u32 left;
};

/* Takes n bytes off the front, if the first buffer has them. It does not return a
 * pointer: the verifier lets only CAP_PERFMON compare one with zero.
 */
INLINE int take(struct cursor *c, void *header, u32 n)
{
	*(void **)header = c->at;
	if (c->at + n > c->end)
		return 0;
	c->at += n;
	c->left -= n;
	return 1;
}

INLINE int mac_is(const struct eth *eth, be16 a, be16 b, be16 c)
{
	return eth->dst[0] == a && eth->dst[1] == b && eth->dst[2] == c;
}

/* Is the frame sent to our own address? A group address is judged later, against the IP destination. */
INLINE enum reason check_mac(const struct eth *eth, int *group)
{
	u32 index = OWN_MAC;
	be16 *mac;

	*group = eth->dst[0] & net16(0x0100);
	if (mac_is(eth, 0xffff, 0xffff, 0xffff))
		return BROADCAST;
	mac = map_lookup(&own, &index);
	if (!*group && mac && !mac_is(eth, mac[0], mac[1], mac[2]))
		return OTHER_MAC;
	return REDIRECTED;
}

/* IPv4 without options, whole, and with lengths that fit: length becomes that of the IP payload. */
INLINE enum reason check_ipv4(struct cursor *c, struct ipv4 **header, u32 *length)
{
	u32 room = c->left, total;
	struct ipv4 *ip;

	if (!take(c, &ip, sizeof(*ip)) || ip->version_ihl >> 4 != 4)
		return MALFORMED;
	if (ip->protocol != PROTO_UDP)
		return NOT_UDP;
	if (ip->version_ihl != 0x45)
		return ip->version_ihl < 0x45 ? MALFORMED : OPTIONS;
	if (ip->fragment & net16(FRAGMENT_MASK))
		return FRAGMENT;
	total = net16(ip->length);
	if (total < sizeof(*ip) || total > room)
		return MALFORMED;
	*header = ip;
	*length = total - sizeof(*ip);
	return REDIRECTED;
}

/* IPv6 with UDP right behind it. */
INLINE enum reason check_ipv6(struct cursor *c, struct ipv6 **header, u32 *length)
{
	struct ipv6 *ip;

	if (!take(c, &ip, sizeof(*ip)) || (ip->version_class_flow & net32(0xf0000000)) != net32(0x60000000))
		return MALFORMED;
	switch (ip->next) {
	case PROTO_UDP:
		break;
	case NEXT_FRAGMENT:
		return FRAGMENT;
	case NEXT_HOP_BY_HOP:
	case NEXT_ROUTING:
	case NEXT_AUTH:
	case NEXT_DEST:
	case NEXT_MOBILITY:
		return EXTENSION;
	default:
		return NOT_UDP;
	}
	*length = net16(ip->length);
	if (*length > c->left)
		return MALFORMED;
	*header = ip;
	return REDIRECTED;
}

/* The UDP length may be shorter than the IP payload (the kernel trims), never longer. */
INLINE enum reason check_udp(struct cursor *c, u32 length, struct key *key)
{
	struct udp *udp;

	if (!take(c, &udp, sizeof(*udp)))
		return MALFORMED;
	if (net16(udp->length) < sizeof(*udp) || net16(udp->length) > length)
		return MALFORMED;
	key->port = udp->dst;
	return REDIRECTED;
}

/* A group datagram needs a filter for just that group; a unicast one may also match "any address". */
INLINE enum reason match(struct key *key, int group)
{
	if (map_lookup(&filters, key))
		return REDIRECTED;
	if (group)
		return NO_FILTER;
	key->addr[0] = key->addr[1] = key->addr[2] = key->addr[3] = 0;
	return map_lookup(&filters, key) ? REDIRECTED : NO_FILTER;
}

INLINE enum reason decide_ipv4(struct cursor *c, struct eth *eth, int group, struct key *key)
{
	struct ipv4 *ip;
	u32 length, dst;
	enum reason why = check_ipv4(c, &ip, &length);

	if (why == REDIRECTED)
		why = check_udp(c, length, key);
	if (why != REDIRECTED)
		return why;
	if (ip->dst == 0xffffffff)
		return BROADCAST;
	dst = net32(ip->dst);
	/* A group's MAC address is 01:00:5e and the low 23 bits of its IP address (RFC 1112, 6.4). */
	if (dst >> 28 == 0xe) {
		if (!mac_is(eth, net16(0x0100), net16(0x5e00 | (dst >> 16 & 0x7f)), net16(dst & 0xffff)))
			return OTHER_MAC;
	} else if (group) {
		return OTHER_MAC;
	}
	key->family = 4;
	key->addr[0] = ip->dst;
	return match(key, group);
}

INLINE enum reason decide_ipv6(struct cursor *c, struct eth *eth, int group, struct key *key)
{
	struct ipv6 *ip;
	u32 length, low;
	enum reason why = check_ipv6(c, &ip, &length);

	if (why == REDIRECTED)
		why = check_udp(c, length, key);
	if (why != REDIRECTED)
		return why;
	low = net32(ip->dst[3]);
	/* A group's MAC address is 33:33 and the low 32 bits of its IP address (RFC 2464, 7). */
	if ((ip->dst[0] & net32(0xff000000)) == net32(0xff000000)) {
		if (!mac_is(eth, net16(0x3333), net16(low >> 16), net16(low & 0xffff)))
			return OTHER_MAC;
	} else if (group) {
		return OTHER_MAC;
	}
	key->family = 6;
	key->addr[0] = ip->dst[0];
	key->addr[1] = ip->dst[1];
	key->addr[2] = ip->dst[2];
	key->addr[3] = ip->dst[3];
	return match(key, group);
}

INLINE enum reason decide(struct cursor *c)
{
	struct key key = {};
	struct eth *eth;
	struct vlan *tag;
	enum reason why;
	be16 type;
	int group;

	if (!take(c, &eth, sizeof(*eth)))
		return MALFORMED;
	type = eth->type;
	if (type == net16(TYPE_VLAN)) {
		if (!take(c, &tag, sizeof(*tag)))
			return MALFORMED;
		key.vlan = tag->tci & net16(VLAN_ID_MASK);
		type = tag->type;
	}
	if (type == net16(TYPE_VLAN) || type == net16(TYPE_QINQ))
		return VLAN;
	if (type != net16(TYPE_IPV4) && type != net16(TYPE_IPV6))
		return NOT_UDP;
	why = check_mac(eth, &group);
	if (why != REDIRECTED)
		return why;
	return type == net16(TYPE_IPV4) ? decide_ipv4(c, eth, group, &key) : decide_ipv6(c, eth, group, &key);
}

/* Decides, and hands the frame to the socket of its queue if there is one. length is
 * that of the whole frame, over all its buffers.
 */
INLINE int steer(struct xdp_md *ctx, u32 length, enum reason *why)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end, length };

	*why = decide(&c);
	if (*why != REDIRECTED)
		return XDP_PASS;
	/* Without a socket on the queue the helper returns its flags: the frame passes. */
	if (redirect_map(&queues, ctx->rx_queue_index, XDP_PASS) == XDP_REDIRECT)
		return XDP_REDIRECT;
	*why = NO_SOCKET;
	return XDP_PASS;
}

INLINE void count(enum reason why)
{
	u32 key = why;
	u64 *n = map_lookup(&counters, &key);

	if (n)
		(*n)++;
}

#endif
