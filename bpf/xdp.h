/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */

/* The few parts of the kernel's BPF interface that the programs need, and the packet
 * headers they read, so that the build takes clang and nothing else. Numbers and
 * layouts are the kernel's (include/uapi/linux/bpf.h) and the RFCs'.
 */
#ifndef XDPATH_XDP_H
#define XDPATH_XDP_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u16 be16; /* network byte order */
typedef u32 be32;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define net16(v) ((be16)__builtin_bswap16(v))
#define net32(v) ((be32)__builtin_bswap32(v))
#else
#define net16(v) ((be16)(v))
#define net32(v) ((be32)(v))
#endif

enum { XDP_PASS = 2, XDP_REDIRECT = 4 };

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_PERCPU_ARRAY = 6, BPF_MAP_TYPE_XSKMAP = 17 };
enum { BPF_F_NO_PREALLOC = 1 };

struct xdp_md {
	u32 data, data_end, data_meta;
	u32 ingress_ifindex, rx_queue_index;
};

/* The map definition that needs no BTF: five words in a section "maps". */
struct map {
	u32 type, key_size, value_size, max_entries, flags;
};

static void *(*map_lookup)(struct map *map, const void *key) = (void *)1;
static long (*redirect_map)(struct map *map, u32 key, u64 flags) = (void *)51;    /* flags as fallback: 5.3 */
static long (*adjust_meta)(struct xdp_md *ctx, long delta) = (void *)54;           /* 4.15 */
static u64 (*get_buff_len)(struct xdp_md *ctx) = (void *)188;                     /* 5.18 */

struct eth {
	be16 dst[3], src[3], type;
};

struct vlan {
	be16 tci, type;
};

struct ipv4 {
	u8 version_ihl, tos;
	be16 length, id, fragment;
	u8 ttl, protocol;
	be16 checksum;
	be32 src, dst;
};

struct ipv6 {
	be32 version_class_flow;
	be16 length;
	u8 next, hops;
	be32 src[4], dst[4];
};

struct udp {
	be16 src, dst, length, checksum;
};

#endif
