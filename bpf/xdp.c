// SPDX-License-Identifier: (GPL-2.0-only OR MIT)

//go:build ignore

/* Hands the UDP datagrams of this endpoint to the AF_XDP socket of their queue and
 * everything else to the kernel. It never drops: what it does not understand is the
 * kernel's business, and the kernel counts it.
 */
#include "decide.h"

INLINE int run(struct xdp_md *ctx, u32 length)
{
	enum reason why;
	int verdict = steer(ctx, length, &why);

	count(why);
	return verdict;
}

/* The program, for frames in one buffer or, loaded with BPF_F_XDP_HAS_FRAGS, in
 * several. From Linux 5.18 on.
 */
SEC("xdp") int xdpath(struct xdp_md *ctx)
{
	return run(ctx, get_buff_len(ctx));
}

/* The same for kernels without that helper, from Linux 5.3 on. The subtraction takes
 * CAP_PERFMON or CAP_SYS_ADMIN.
 */
SEC("xdp") int xdpath_old(struct xdp_md *ctx)
{
	return run(ctx, ctx->data_end - ctx->data);
}

char _license[] SEC("license") = "Dual MIT/GPL";
