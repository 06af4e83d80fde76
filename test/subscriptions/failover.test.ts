import { afterAll, beforeAll, expect, it } from 'vitest';
import { FAILOVERS, slug, startFailoverDay, token, type FailoverDay } from './failover-day.ts';
import { ethersWitness, rawWitness, viemWitness, type Witness } from './witness.ts';

let day: FailoverDay;
let witnesses: Witness[];

beforeAll(async () => {
  day = await startFailoverDay();
  const opened = [rawWitness, ethersWitness, viemWitness].map((open) => open(day.gateway, slug, token));
  witnesses = await Promise.all(opened);
});
afterAll(async () => {
  await Promise.all(witnesses.map((witness) => witness.close()));
  await day.close();
});

it(`${FAILOVERS} upstream failures and three reorgs cause no gap and no duplicate notification`, async () => {
  expect((await day.run(witnesses)).logs).toBeGreaterThan(0);
});
