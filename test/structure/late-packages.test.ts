import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { sourcesIn } from './imports.ts';

/** Packages that `loadPackage` or `import()` loads, which saves 9 MB in an idle gateway without Redis, and half of the CPU of many commands. */
const late =
  /^import (?!type )[^;]*? from '(ajv|ioredis|undici|yaml|@noble\/curves|@opentelemetry\/[b-z][a-z-]*|@photostructure\/sqlite)['/]/gm;

const importedAtOnce = (text: string): string[] => [...text.matchAll(late)].map(([, name = '']) => name);

describe('large packages that are rarely used', () => {
  it('are imported by type only', () => {
    const found = sourcesIn('gateway').flatMap((file) =>
      importedAtOnce(readFileSync(join(packageRoot, file), 'utf8')).map((name) => `${file}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  it('are found by this check', () => {
    const text =
      "import { Redis } from 'ioredis';\nimport type { Pool } from 'undici';\nimport x from '@noble/curves/p.js';";
    expect(importedAtOnce(text)).toEqual(['ioredis', '@noble/curves']);
  });
});

describe('the young generation', () => {
  it('is limited before any other module is loaded', () => {
    const importsIn = (file: string): string[] => {
      const text = readFileSync(join(packageRoot, 'gateway', file), 'utf8');
      return (text.match(/^import .*$/gm) ?? []).filter((line) => !line.includes("'node:"));
    };
    expect(importsIn('main.ts')).toEqual(["import './config/young-heap.ts';"]);
    expect(importsIn('config/young-heap.ts')).toEqual([]);
  });
});
