import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { settingRows } from '../../gateway/config/settings.ts';
import { attacks } from '../abuse/attacks/attacks.ts';
import { heading } from '../abuse/outcome-table.ts';
import { readTable } from '../support/page-table.ts';

const page = join(packageRoot, 'docs/security.md');
const attacksPage = join(packageRoot, 'docs/measured/attacks.md');
const advice = 'run npm run test:all -- abuse --write';

it('docs/measured/attacks.md has the measured figures of exactly the attacks of test/abuse/attacks/', () => {
  const [head, ...rows] = readTable(attacksPage, 'attacks');
  expect(head, advice).toEqual(heading);
  const described = rows.map(([name, sends, bound]) => [name, sends, bound]);
  const measured = attacks.filter(({ isUnmeasured }) => isUnmeasured !== true);
  expect(described, advice).toEqual(measured.map(({ name, sends, bound }) => [name, sends, bound]));
  for (const [name, , , memory, rejected, median, worst, cpuWait] of rows) {
    expect([name, memory]).toEqual([name, expect.stringMatching(/^\d+ MB$/)]);
    expect([name, rejected]).toEqual([name, expect.stringMatching(/^\d+ of \d+$/)]);
    for (const cell of [median, worst]) expect(cell).toMatch(/^(\d+ ms \(\d+\.\d\d ×\)|none served)$/);
    expect(cpuWait).toMatch(/^(\d+ ms|unknown)$/);
  }
});

it('docs/security.md names settings that exist', () => {
  const known = new Set(settingRows.map(({ name }) => name));
  const named = [...readFileSync(page, 'utf8').matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

it('the attacks end within thirteen minutes in each pass', () => {
  // A gateway that starts, and its neighbour alone, take 6 s for each.
  const seconds = attacks.reduce((sum, attack) => sum + attack.seconds + 6, 0);
  expect(seconds).toBeLessThanOrEqual(780);
});
