import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';

const page = readFileSync(join(packageRoot, 'docs/lifecycle.md'), 'utf8');
const files = [...page.matchAll(/(?:[a-z-]+\/)+[a-z-]+\.ts/g)].map(([file]) => file);
const [, tree = ''] = /^```text\n([^]*?)^```/m.exec(page) ?? [];

it('docs/lifecycle.md names only files that exist in gateway/', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !existsSync(join(packageRoot, 'gateway', file)))).toEqual([]);
});

it('docs/lifecycle.md has a file at every step', () => {
  const steps = page.split(/^(?=\d+\. )/m).slice(1);
  expect(steps.length).toBeGreaterThan(10);
  expect(steps.filter((step) => !files.some((file) => step.includes(file)))).toEqual([]);
  const branches = tree.split('\n').filter((line) => /[├└] \w/.test(line) && !/[├└] loop/.test(line));
  expect(branches.length).toBeGreaterThan(20);
  expect(branches.filter((line) => !files.some((file) => line.includes(file)))).toEqual([]);
});

it('docs/lifecycle.md describes a call in a tree of 60 lines', () => {
  expect(tree.trim().split('\n').length).toBeLessThanOrEqual(60);
});
