import type { Sample } from '../../test/metrics/read-metrics.ts';

/** How many results of a network had which proof, and how many were said to be wrong. Scripted nodes never lie. */
export interface VerifiedResults {
  readonly proofs: Readonly<Record<string, number>>;
  readonly disproved: number;
}

/** @param samples of a gateway's metrics */
export function verifiedResults(samples: readonly Sample[], network: string): VerifiedResults {
  const of = (metric: string): Sample[] =>
    samples.filter(({ name, labels }) => name === metric && labels['network'] === network);
  const proofs: Record<string, number> = {};
  for (const { labels, value } of of('gatehouse_verified_results_total')) {
    const { proof = '' } = labels;
    proofs[proof] = (proofs[proof] ?? 0) + value;
  }
  const wrong = of('gatehouse_audits_total').filter(({ labels }) => labels['outcome'] === 'differs');
  return { proofs, disproved: wrong.reduce((sum, { value }) => sum + value, 0) };
}
