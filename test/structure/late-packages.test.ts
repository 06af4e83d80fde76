import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { sourcesIn } from './imports.ts';

/** Loaded by `loadPackage`: an idle gateway without Redis is 9 MB smaller for it. */
const late = /^import (?!type )[^;]*? from '(ioredis|undici|@noble\/curves)['/]/gm;

const importedAtOnce = (text: string): string[] => [...text.matchAll(late)].map(([, name = '']) => name);

describe('packages that are large and seldom needed', () => {
  it('are imported by type only', () => {
    const found = sourcesIn('gateway').flatMap((file) =>
      importedAtOnce(readFileSync(join(packageRoot, file), 'utf8')).map((name) => `${file}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  it('would be found', () => {
    const text =
      "import { Redis } from 'ioredis';\nimport type { Pool } from 'undici';\nimport x from '@noble/curves/p.js';";
    expect(importedAtOnce(text)).toEqual(['ioredis', '@noble/curves']);
  });
});

describe('the young generation', () => {
  it('is held small before anything else is loaded', () => {
    const [first = ''] = readFileSync(join(packageRoot, 'gateway/main.ts'), 'utf8').match(/^import .*$/m) ?? [];
    expect(first).toContain("'./config/young-heap.ts'");
  });
});
