import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { sourcesIn } from './imports.ts';

/** `npm run test:all -- nodes` needs a checkout of execution-apis, and fails without it. */
const files = sourcesIn('test').filter((file) => !/^test\/nodes\/|node_modules/.test(file));

describe('each test runs in each clone', () => {
  it('because none is skipped, conditional or to be written', () => {
    const conditional =
      /\b(?:describe|it|test|bench)(?:\.\w+)*\.(?:skip|skipIf|runIf|only|todo|fails)\b|\bcontext\.skip\(/;
    expect(filesWith(conditional)).toEqual([]);
  });

  it('because none reads a folder beside this repository', () => {
    expect(filesWith(/['"`/]\.\.\/shared\b/)).toEqual([]);
    expect(filesWith(/packageRoot, ['"`]\.\.(?:\/|['"`])/)).toEqual([]);
  });
});

function filesWith(pattern: RegExp): string[] {
  const own = 'test/structure/unconditional-tests.test.ts';
  return files.filter((file) => file !== own && pattern.test(readFileSync(join(packageRoot, file), 'utf8')));
}
