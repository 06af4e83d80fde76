import { option } from './processes.ts';

/**
 * Computes what cannot be measured on one machine: how many gateways, each with its own core, one Redis core can serve.
 * The inputs are the times that `replicas.ts` measured, and how often gateways run Redis scripts:
 *
 * - usage: one script per second for each used key, at each gateway. With more than 1,000 used keys: for 1,000 keys per
 *   second, or for a tenth of the keys if that is more (`usage-ledger.ts`);
 * - limits: one script per body. A key with more than 160 request units per second at a gateway takes leases instead: one
 *   script every 50 ms (`gateway/limits/`).
 *
 *   npm run build && node dist/bench/redis-ceiling.js --gateway-us 150 --limited-us 280 --script-us 30
 */
interface Load {
  readonly name: string;
  readonly isLimited: boolean;
  /** Keys that are used in every second at each gateway, with equal numbers of calls. */
  readonly keys: number;
  /** Calls per body. */
  readonly batchSize: number;
}

const USAGE_WRITES_PER_SECOND = 1_000;
const LEASES_PER_SECOND = 20;
const MIN_LEASE = 8;

const loads: readonly Load[] = [
  { name: '10 busy keys, no limits', isLimited: false, keys: 10, batchSize: 1 },
  { name: '10,000 keys, no limits', isLimited: false, keys: 10_000, batchSize: 1 },
  { name: '10 busy keys, a rate each', isLimited: true, keys: 10, batchSize: 1 },
  { name: '10,000 keys, a rate each', isLimited: true, keys: 10_000, batchSize: 1 },
  { name: '10,000 keys, a rate each, batches of 10', isLimited: true, keys: 10_000, batchSize: 10 },
];

const gatewayUs = option('gateway-us', 150);
const limitedUs = option('limited-us', 280);
const scriptUs = option('script-us', 30);

console.log(
  '| load | calls/s of a gateway | scripts/s of a gateway | Redis core of a gateway | gateways of one Redis core | their calls/s |',
);
console.log('| --- | --- | --- | --- | --- | --- |');
for (const { name, isLimited, keys, batchSize } of loads) {
  const calls = 1e6 / (isLimited ? limitedUs : gatewayUs);
  const usageScripts = Math.min(calls / batchSize, keys, Math.max(USAGE_WRITES_PER_SECOND, keys / 10));
  const scripts = usageScripts + (isLimited ? limitScripts(calls / keys, calls / batchSize, keys) : 0);
  const share = (scripts * scriptUs) / 1e6;
  const cells = [calls, scripts, `${(share * 100).toFixed(1)} %`, 1 / share, calls / share];
  const shown = cells.map((cell) => (typeof cell === 'string' ? cell : Math.floor(cell).toLocaleString('en')));
  console.log(`| ${name} | ${shown.join(' | ')} |`);
}

/** Scripts per second for limits. @param perKey calls per second of one key @param bodies per second of all keys */
function limitScripts(perKey: number, bodies: number, keys: number): number {
  const takesLeases = perKey / LEASES_PER_SECOND >= MIN_LEASE;
  return takesLeases ? Math.min(bodies, keys * LEASES_PER_SECOND) : bodies;
}
