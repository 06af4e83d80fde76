/**
 * A quantile of durations in buckets, interpolated as by Prometheus; undefined without durations.
 * @param bounds upper bounds of the buckets in seconds; the last bucket has none
 * @param counts durations in each bucket
 */
export function quantileMs(bounds: readonly number[], counts: readonly number[], quantile: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const rank = quantile * total;
  let below = 0;
  for (const [index, count] of counts.entries()) {
    const upper = bounds[index];
    // Of longer calls, only the highest bound is known.
    if (upper === undefined) break;
    if (below + count >= rank) {
      const lower = bounds[index - 1] ?? 0;
      return (lower + (upper - lower) * ((rank - below) / count)) * 1000;
    }
    below += count;
  }
  return (bounds.at(-1) ?? 0) * 1000;
}
