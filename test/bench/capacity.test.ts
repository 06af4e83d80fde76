import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { capacityRows, type CapacityRound } from '../../bench/capacity/capacity-rows.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { readTable, writeTable } from '../support/page-table.ts';

const counts = { keys: 10_000, networks: 200, sockets: 2_000 };
const round = (factor: number): CapacityRound => ({
  callsPerCore: 10_000 * factor,
  startedBytes: 90e6 * factor,
  bytesPerKey: 1_240 * factor,
  bytesPerNetwork: 151_000 * factor,
  bytesPerSocket: 12_300 * factor,
});

it('the capacity table has the median of the rounds, in units for people, and survives writing and reading', () => {
  const rows = capacityRows([round(2), round(1), round(4)], counts, 'load average 1.0 on 2 cores');
  const cells = new Map(rows.map(([name = '', value = '']) => [name, value]));
  expect(cells.get('calls')).toBe('20,000 per s (10,000 – 40,000)');
  expect(cells.get('gateway')).toBe('180 MB (90 – 360)');
  expect(cells.get('key')).toBe('2.5 kB (1.2 – 5.0)');
  expect(cells.get('network')).toBe('302 kB (151 – 604)');
  expect(cells.get('WebSocket')).toBe('24.6 kB (12.3 – 49.2)');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-capacity-'));
  const page = join(folder, 'page.md');
  writeFileSync(page, '# Page\n\n<!-- capacity -->\n<!-- end of capacity -->\n\nafter\n');
  writeTable(page, 'capacity', rows, 'npm run bench -- capacity');
  expect(readTable(page, 'capacity')).toEqual(rows);
  expect(readFileSync(page, 'utf8')).toMatch(/^`npm run bench -- capacity` on .+, Node v.+, \d{4}-\d\d-\d\d\.$/m);
  rmSync(folder, { recursive: true });
});

it('docs/scaling.md has a place for the table; once it is measured, every row with a positive median', () => {
  const written = readTable(join(packageRoot, 'docs/scaling.md'), 'capacity');
  const names = capacityRows([round(1)], counts, '').map(([name]) => name);
  expect([[], names]).toContainEqual(written.map(([name]) => name));
  const medians = written.slice(1, -1).map(([, value = '']) => Number(/^[\d.,]+/.exec(value)?.[0].replaceAll(',', '')));
  expect(medians.filter((value) => !(value > 0))).toEqual([]);
});
