import { join } from 'node:path';
import { afterAll, beforeAll, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { FAILOVERS, slug, startFailoverDay, token, type FailoverDay } from '../subscriptions/failover-day.ts';
import { ethersWitness, viemWitness, type Witness } from '../subscriptions/witness.ts';
import { writeTable } from '../support/page-table.ts';
import { web3Witness } from './web3-witness.ts';

let day: FailoverDay;
let witnesses: Witness[];

beforeAll(async () => {
  day = await startFailoverDay();
  const opened = [ethersWitness, viemWitness, web3Witness].map((open) => open(day.gateway, slug, token));
  witnesses = await Promise.all(opened);
});
afterAll(async () => {
  await Promise.all(witnesses.map((witness) => witness.close()));
  await day.close();
});

it(`ethers, viem and web3.js see ${FAILOVERS} failovers and three reorgs without gaps or duplicates`, async () => {
  const startedAt = clock.now();
  const { heads, logs, removed } = await day.run(witnesses);
  if (process.env['WRITE_DOCS'] !== 'yes') return;
  const duration = `${((clock.now() - startedAt) / 1_000).toFixed(0)} s`;
  const names = witnesses.map(({ name }) => name);
  const rows = names.map((name) => [name, ...[FAILOVERS, 3, heads, logs, removed, 0, 0].map(String), duration]);
  const heading = ['client', 'failovers', 'reorgs', 'heads', 'logs', 'removed logs', 'gaps', 'duplicates', 'duration'];
  writeTable(
    join(packageRoot, 'docs/measured/websocket.md'),
    'failovers',
    [heading, ...rows],
    'npm run test:all -- clients test/clients/failovers --write',
  );
}, 300_000);
