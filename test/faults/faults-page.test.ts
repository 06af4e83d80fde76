import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { readTable } from '../support/page-table.ts';
import { expectedCells, heading } from './fault-table.ts';
import { faults } from './faults.ts';
import { redisFaults } from './redis-faults.ts';

const table = (name: keyof typeof heading): string[][] => readTable(join(packageRoot, 'docs/measured/faults.md'), name);

it('docs/measured/faults.md has exactly the faults of the tables', () => {
  expectSameNames('upstreams', faults, 'test/faults/faults.ts');
  expectSameNames('redis', redisFaults, 'test/faults/redis-faults.ts');
});

it('docs/measured/faults.md has a row with the outcome of each upstream fault', () => {
  const [head, ...rows] = table('upstreams');
  expect(head).toEqual(heading.upstreams);
  expect(rows.map(([name, , , counts, alone, , requested]) => [name, counts, alone, requested])).toEqual(
    faults.map(expectedCells),
  );
  for (const [, ms, nextMs, , , aloneMs] of rows)
    for (const cell of [ms, nextMs, aloneMs]) expect(cell).toMatch(/^[\d.]+ ms$/);
});

it('docs/measured/faults.md has the columns of the Redis faults', () => {
  expect(table('redis')[0]).toEqual(heading.redis);
});

it('docs/measured/faults.md has how long clients wait when the first upstream fails', () => {
  const [head, ...rows] = table('failover');
  expect(head).toEqual(heading.failover);
  expect(rows.map(([, through]) => through)).toEqual(rows.map((_, index) => (index % 2 === 0 ? 'Gatehouse' : 'nginx')));
  expect(rows.length).toBeGreaterThan(0);
  for (const [, , ...times] of rows) for (const cell of times.slice(0, 3)) expect(cell).toMatch(/^[\d.]+ ms$/);
});

function expectSameNames(name: keyof typeof heading, rows: readonly { readonly name: string }[], file: string): void {
  const documented = table(name)
    .slice(1)
    .map(([fault]) => fault ?? '');
  const tested = rows.map((row) => row.name);
  const undocumented = tested.filter((fault) => !documented.includes(fault));
  expect(
    undocumented,
    `faults of ${file} without a row in docs/measured/faults.md: run npm run bench -- faults`,
  ).toEqual([]);
  const untested = documented.filter((fault) => !tested.includes(fault));
  expect(
    untested,
    `faults of docs/measured/faults.md without a row: add it to ${file}, or run npm run bench -- faults`,
  ).toEqual([]);
  expect(documented, 'the order of docs/measured/faults.md: run npm run bench -- faults').toEqual(tested);
}
