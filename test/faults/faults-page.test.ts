import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { readTable } from '../support/page-table.ts';
import { heading, promised } from './fault-table.ts';
import { faults } from './faults.ts';
import { redisFaults } from './redis-faults.ts';

const table = (name: keyof typeof heading): string[][] => readTable(join(packageRoot, 'docs/faults.md'), name);

it('docs/faults.md has a row for every fault of an upstream, with what comes of it', () => {
  const [head, ...rows] = table('upstreams');
  expect(head).toEqual(heading.upstreams);
  expect(rows.map(([name, , , counts, alone, , requested]) => [name, counts, alone, requested])).toEqual(
    faults.map(promised),
  );
  for (const [, ms, nextMs, , , aloneMs] of rows)
    for (const cell of [ms, nextMs, aloneMs]) expect(cell).toMatch(/^[\d.]+ ms$/);
});

it('and one for every fault of Redis', () => {
  const [head, ...rows] = table('redis');
  expect(head).toEqual(heading.redis);
  expect(rows.map(([name]) => name)).toEqual(redisFaults.map(({ name }) => name));
});

it('and tells how long callers wait when the first upstream dies', () => {
  const [head, ...rows] = table('failover');
  expect(head).toEqual(heading.failover);
  expect(rows.map(([, through]) => through)).toEqual(rows.map((_, index) => (index % 2 === 0 ? 'Gatehouse' : 'nginx')));
  expect(rows.length).toBeGreaterThan(0);
  for (const [, , ...times] of rows) for (const cell of times.slice(0, 3)) expect(cell).toMatch(/^[\d.]+ ms$/);
});
