import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { readTable } from '../support/page-table.ts';
import { expectedCells, heading } from './fault-table.ts';
import { faults } from './faults.ts';
import { redisFaults } from './redis-faults.ts';

const table = (name: keyof typeof heading): string[][] => readTable(join(packageRoot, 'docs/faults.md'), name);

it('docs/faults.md has a row with the outcome of each upstream fault', () => {
  const [head, ...rows] = table('upstreams');
  expect(head).toEqual(heading.upstreams);
  expect(rows.map(([name, , , counts, alone, , requested]) => [name, counts, alone, requested])).toEqual(
    faults.map(expectedCells),
  );
  for (const [, ms, nextMs, , , aloneMs] of rows)
    for (const cell of [ms, nextMs, aloneMs]) expect(cell).toMatch(/^[\d.]+ ms$/);
});

it('docs/faults.md has a row for each Redis fault', () => {
  const [head, ...rows] = table('redis');
  expect(head).toEqual(heading.redis);
  expect(rows.map(([name]) => name)).toEqual(redisFaults.map(({ name }) => name));
});

it('docs/faults.md has how long clients wait when the first upstream fails', () => {
  const [head, ...rows] = table('failover');
  expect(head).toEqual(heading.failover);
  expect(rows.map(([, through]) => through)).toEqual(rows.map((_, index) => (index % 2 === 0 ? 'Gatehouse' : 'nginx')));
  expect(rows.length).toBeGreaterThan(0);
  for (const [, , ...times] of rows) for (const cell of times.slice(0, 3)) expect(cell).toMatch(/^[\d.]+ ms$/);
});
