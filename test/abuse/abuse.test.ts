import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { writeTable } from '../support/page-table.ts';
import { attacks } from './attacks/attacks.ts';
import { bounds } from './bounds.ts';
import { heading, rowOf } from './outcome-table.ts';
import { playAttack, type Outcome, type Pass } from './play-attack.ts';

/** Share above which the machine has too few cores for two workers, the attacker, the upstream and another caller. */
const MAX_CPU_WAIT_SHARE = 0.4;

const rows: string[][] = [];

afterAll(() => {
  for (const row of rows) console.log(row.join(' | '));
  if (process.env['WRITE_DOCS'] !== 'yes' || rows.length < attacks.length) return;
  writeTable(
    join(packageRoot, 'docs/measured/attacks.md'),
    'attacks',
    [heading, ...rows],
    'npm run test:all -- abuse --write',
  );
});

/** The table of docs/measured/attacks.md has the first. */
const passes: readonly Pass[] = ['all bounds', 'two workers', 'guards alone'];

// Vitest shortens `$name`, and then `-t` does not match.
const plays = passes.flatMap((pass) => attacks.map((attack) => [`${attack.name}, ${pass}`, attack, pass] as const));
describe.each(plays)('%s', (name, attack, pass) => {
  let outcome: Outcome;

  beforeAll(async () => {
    outcome = await playAttack(attack, pass);
    if (pass === 'all bounds') rows.push(rowOf(attack, outcome));
    else console.log(`${name} | ${rowOf(attack, outcome).slice(3).join(' | ')}`);
    console.log(name, JSON.stringify(outcome.traffic), cpuWait(outcome));
  });

  it('takes place', () => {
    const { connections, bytes, statuses } = outcome.traffic;
    expect(connections).toBeGreaterThanOrEqual(attack.atLeast.connections);
    expect(bytes).toBeGreaterThanOrEqual(attack.atLeast.bytes);
    if (attack.key === undefined) return;
    // The gateway knows the key, and serves the path.
    expect(outcome.keyCheck?.rejected).toEqual([]);
    expect(Object.keys(statuses).filter((status) => ['401', '403', '404'].includes(status))).toEqual([]);
  });

  it('gets nothing that it must not get', () => {
    expect(outcome.traffic.violations).toEqual([]);
  });

  it('uses a bounded amount of memory', () => {
    const more = pass === 'two workers' ? bounds.twoMoreProcessesBytes : 0;
    expect(outcome.peakBytes).toBeLessThan(bounds.memoryBytes + more);
  });

  it('has no effect on another key beyond the bounds', () => {
    const { alone, attacked } = outcome;
    expect(alone.rejected).toEqual([]);
    expect(attacked.rejected).toEqual([]);
    // Two busy workers leave no core of two to the upstream and the other key's client.
    if (pass === 'two workers' && outcome.cpuWaitShare > MAX_CPU_WAIT_SHARE) {
      console.log(`${name}: its times are not judged, the machine has too few cores`);
      return;
    }
    expect(attacked.medianMs / alone.medianMs, cpuWait(outcome)).toBeLessThan(bounds.median);
    expect(attacked.worstMs / alone.medianMs, cpuWait(outcome)).toBeLessThan(bounds.worst);
  });

  it('ends, and the gateway serves as before', () => {
    expect(outcome.isAlive).toBe(true);
    expect(outcome.after.rejected).toEqual([]);
  });
});

/** Shows whether a slow neighbour is due to other programs of this machine. */
function cpuWait({ cpuWaitShare, attacked: { worstMs, worstCpuWaitMs } }: Outcome): string {
  const [share, ofWorst, worst] = [100 * cpuWaitShare, worstCpuWaitMs, worstMs].map(Math.round);
  return `the gateway waited for a CPU ${share} % of the time, and ${ofWorst} of ${worst} ms in the worst request`;
}
