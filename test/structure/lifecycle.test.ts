import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';

const page = readFileSync(join(packageRoot, 'docs/lifecycle.md'), 'utf8');
const waits = readFileSync(join(packageRoot, 'docs/reference/waits.md'), 'utf8');
const filesIn = (text: string): string[] => [...text.matchAll(/(?:[a-z-]+\/)+[a-z-]+\.ts/g)].map(([file]) => file);
const files = filesIn(page);
const [, tree = ''] = /^```text\n([^]*?)^```/m.exec(page) ?? [];

it('docs/lifecycle.md and docs/reference/waits.md name only files that exist in gateway/', () => {
  const named = [...files, ...filesIn(waits)];
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((file) => !existsSync(join(packageRoot, 'gateway', file)))).toEqual([]);
});

it('docs/lifecycle.md has a file at every step', () => {
  const steps = page.split(/^(?=\d+\. )/m).slice(1);
  expect(steps.length).toBeGreaterThan(10);
  expect(steps.filter((step) => !files.some((file) => step.includes(file)))).toEqual([]);
  const branches = tree.split('\n').filter((line) => /[├└] \w/.test(line) && !/[├└] loop/.test(line));
  expect(branches.length).toBeGreaterThan(20);
  expect(branches.filter((line) => !files.some((file) => line.includes(file)))).toEqual([]);
});

it('docs/lifecycle.md describes a call in a tree of 30 lines', () => {
  expect(tree.trim().split('\n').length).toBeLessThanOrEqual(30);
});

it('docs/reference/waits.md has the file of each step', () => {
  const steps = waits.split('\n').filter((line) => line.startsWith('- '));
  expect(steps.length).toBeGreaterThan(40);
  expect(steps.filter((step) => !/^- (\*\*[\w ]+\*\* )?`[\w/-]+\.ts`/.test(step))).toEqual([]);
});
