import { Auditor, type AuditorOptions } from '../audit/auditor.ts';
import type { Metrics } from '../metrics/metrics.ts';

/**
 * Opens the audits of a network.
 * @param share of its reads, from 0 to 1
 * @returns undefined: audits are off
 */
export function openAudit(
  share: number,
  slug: string,
  { audits }: Pick<Metrics, 'audits'>,
  network: Omit<AuditorOptions, 'share' | 'metrics'>,
): Auditor | undefined {
  if (share === 0) return undefined;
  const names = network.upstreams.map(({ name }) => name);
  return new Auditor({ share, metrics: audits.networkMetrics(slug, names), ...network });
}
