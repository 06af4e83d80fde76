import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { parse, sourcesIn } from './imports.ts';

/** The only files that set timers: a helper, faults whose subject is a late connection, and the clocks. */
const timed = [
  'test/support/eventually.ts',
  'test/faults/black-hole.ts',
  'test/support/simulated-clock.ts',
  'test/support/slow-timers.ts',
  'test/support/hold-timers.ts',
  'test/clock/simulated-clock.test.ts',
  'test/clock/elastic-clock.test.ts',
  'test/event-loop/turn-budget.test.ts',
];
const configs = ['vitest.config.ts'];
const advice = 'wait with `eventually` or `staysTrueFor`; `scenarioPause` is for latency that belongs to the scenario';

const textOf = (file: string): string => readFileSync(join(packageRoot, file), 'utf8');
const files = [...configs, ...sourcesIn('test').filter((file) => !file.includes('node_modules'))];
/** The files that contain a word, parsed. Parsing all of them takes seconds. */
const sourcesWith = (word: string): ts.SourceFile[] =>
  files
    .map((file) => [file, textOf(file)] as const)
    .filter(([, text]) => text.includes(word))
    .map(([file, text]) => parse(file, text));

/** Uses of setTimeout, also under another name, with their lines. */
function sleeps(source: ts.SourceFile): string[] {
  return identifiers(source, (node) => node.text === 'setTimeout');
}

/** The option `retry` of a configuration, a suite or a test. */
function retries(source: ts.SourceFile): string[] {
  return identifiers(
    source,
    (node) => node.text === 'retry' && ts.isPropertyAssignment(node.parent) && isOption(node.parent),
  );
}

/** Whether a property belongs to an object that vitest reads: in a configuration, or an argument of a test. */
function isOption({ parent }: ts.PropertyAssignment): boolean {
  for (let node: ts.Node = parent; !ts.isSourceFile(node); node = node.parent) {
    if (ts.isFunctionLike(node)) return false;
    if (ts.isCallExpression(node)) return /^(it|test|describe|defineConfig)\b/.test(node.expression.getText());
  }
  return false;
}

function identifiers(source: ts.SourceFile, isFound: (node: ts.Identifier) => boolean): string[] {
  const found: string[] = [];
  const see = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && isFound(node)) {
      found.push(`${source.fileName}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`);
    }
    ts.forEachChild(node, see);
  };
  see(source);
  return found;
}

describe('the tests', () => {
  it('do not sleep', () => {
    const found = sourcesWith('setTimeout').filter((source) => sleeps(source).length > 0);
    expect(found.filter(({ fileName }) => !timed.includes(fileName)).flatMap(sleeps), advice).toEqual([]);
    expect(found.map(({ fileName }) => fileName).toSorted()).toEqual(timed.toSorted());
  });

  it('track the processes that they start', () => {
    const words = ['spawn', 'fork'];
    const sources = words.flatMap(sourcesWith).filter(({ fileName }) => fileName !== 'test/fuzz/session.ts');
    const untracked = (node: ts.Identifier): boolean =>
      words.includes(node.text) &&
      ts.isCallExpression(node.parent) &&
      node.parent.expression === node &&
      !node.parent.parent.getText().startsWith('tracked(');
    expect(
      sources.flatMap((source) => identifiers(source, untracked)),
      'use `tracked`',
    ).toEqual([]);
  });

  it('start a gateway as a process in `*.process.test.ts` only, which run last', () => {
    const excluded = /^test\/(structure|abuse|clients|helm|hours|languages|nodes|pages|programs|recipes|walkthrough)\//;
    const others = files.filter((file) => /(?<!\.process)\.test\.ts$/.test(file) && !excluded.test(file));
    expect(
      others.filter((file) => /\b(Workplace|TwoWorkers)\b/.test(textOf(file))),
      'use `CommandFolder`: `run` for commands, `serve` for a gateway',
    ).toEqual([]);
  });

  it('are not repeated when they fail', () => {
    expect(sourcesWith('retry').flatMap(retries)).toEqual([]);
    for (const file of ['package.json', '.ci/run']) expect(textOf(file)).not.toContain('--retry');
  });

  it('fail without an assertion', () => {
    expect(textOf('vitest.config.ts')).toContain('expect: { requireAssertions: true');
  });

  it('are read by these checks in every spelling', () => {
    for (const text of [
      "import { setTimeout as wait } from 'node:timers/promises';",
      'await new Promise((resolve) => setTimeout(resolve, 5));',
      'globalThis.setTimeout(done, 5);',
    ]) {
      expect([text, sleeps(parse('x.ts', text))]).toEqual([text, ['x.ts:1']]);
    }
    for (const text of [
      'export default defineConfig({ test: { retry: 1 } });',
      "it('x', { retry: 2 }, () => undefined);",
      "describe.each([1])('x', { retry: 2 }, () => undefined);",
    ]) {
      expect([text, retries(parse('x.ts', text))]).toEqual([text, ['x.ts:1']]);
    }
    const usual = "it('x', () => { expect({ retry: 1 }).toEqual(fake(['setTimeout'])); }); // setTimeout";
    expect([sleeps(parse('x.ts', usual)), retries(parse('x.ts', usual))]).toEqual([[], []]);
  });
});
