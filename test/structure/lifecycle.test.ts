import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';

const page = readFileSync(join(packageRoot, 'docs/lifecycle.md'), 'utf8');
const files = [...page.matchAll(/`([a-z-]+\/(?:[a-z-]+\/)*[a-z-]+\.ts|main\.ts)`/g)].map(([, file = '']) => file);

it('docs/lifecycle.md names only files that exist in gateway/', () => {
  expect(files.filter((file) => !existsSync(join(packageRoot, 'gateway', file)))).toEqual([]);
});

it('docs/lifecycle.md has a file at every step', () => {
  const steps = page.split(/^(?=\d+\. )/m).slice(1);
  expect(steps.length).toBeGreaterThan(20);
  expect(steps.filter((step) => !files.some((file) => step.includes(`\`${file}\``)))).toEqual([]);
});

it('docs/lifecycle.md describes a request in 60 lines', () => {
  const [, request = ''] = /^## A request\n([^]*?)^## /m.exec(page) ?? [];
  expect(request.trim().split('\n').length).toBeLessThanOrEqual(60);
});
