import { option } from './processes.ts';

/**
 * What cannot be measured on one machine: how many gateways, each with a core of its own, one Redis core can serve. From
 * the times that `replicas.ts` measured, and from how often gateways ask Redis:
 *
 * - usage: a script for each key and second in which it was used, at each gateway; of more than 1,000 keys for so many, or
 *   for a tenth of them (`usage-ledger.ts`);
 * - limits: a script for each body, but for a key that has more than 160 weighted calls a second at a gateway one each
 *   50 ms, which takes a lease (`account.ts`).
 *
 *   npm run build && node dist/bench/redis-ceiling.js --gateway-us 150 --limited-us 280 --script-us 30
 */
interface Load {
  readonly name: string;
  readonly isLimited: boolean;
  /** In use in each second, evenly, at each gateway. */
  readonly keys: number;
  /** Calls in a body. */
  readonly batch: number;
}

const USAGE_AT_ONCE = 1_000;
const LEASES_PER_SECOND = 20;
const MIN_LEASE = 8;

const loads: readonly Load[] = [
  { name: '10 busy keys, no limits', isLimited: false, keys: 10, batch: 1 },
  { name: '10,000 keys, no limits', isLimited: false, keys: 10_000, batch: 1 },
  { name: '10 busy keys, a rate each', isLimited: true, keys: 10, batch: 1 },
  { name: '10,000 keys, a rate each', isLimited: true, keys: 10_000, batch: 1 },
  { name: '10,000 keys, a rate each, batches of 10', isLimited: true, keys: 10_000, batch: 10 },
];

const gatewayUs = option('gateway-us', 150);
const limitedUs = option('limited-us', 280);
const scriptUs = option('script-us', 30);

console.log(
  '| load | calls/s of a gateway | scripts/s of a gateway | Redis core of a gateway | gateways of one Redis core | their calls/s |',
);
console.log('| --- | --- | --- | --- | --- | --- |');
for (const { name, isLimited, keys, batch } of loads) {
  const calls = 1e6 / (isLimited ? limitedUs : gatewayUs);
  const written = Math.min(calls / batch, keys, Math.max(USAGE_AT_ONCE, keys / 10));
  const scripts = written + (isLimited ? charges(calls / keys, calls / batch, keys) : 0);
  const share = (scripts * scriptUs) / 1e6;
  const cells = [calls, scripts, `${(share * 100).toFixed(1)} %`, 1 / share, calls / share];
  const shown = cells.map((cell) => (typeof cell === 'string' ? cell : Math.floor(cell).toLocaleString('en')));
  console.log(`| ${name} | ${shown.join(' | ')} |`);
}

/** @param perKey calls a second of a key @param bodies a second of all */
function charges(perKey: number, bodies: number, keys: number): number {
  const takesLeases = perKey / LEASES_PER_SECOND >= MIN_LEASE;
  return takesLeases ? Math.min(bodies, keys * LEASES_PER_SECOND) : bodies;
}
