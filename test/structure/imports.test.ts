import { describe, expect, it } from 'vitest';
import { cyclesAmong, importsOf, parse, processUses, sourcesIn, type Import } from './imports.ts';

/**
 * From the top: a file may import what is in a lower row. Folders of one row know each other by type only, and so do
 * the files that stand directly in gateway/, each of which counts as a folder of its own.
 */
const levels: readonly (readonly string[])[] = [
  ['main.ts'],
  ['app.ts'],
  ['networks-in-force.ts'],
  ['http', 'websocket', 'cli', 'serve-network.ts'],
  ['handle-body.ts'],
  ['join-answers.ts'],
  ['charge-calls.ts'],
  ['handle-call.ts'],
  ['repeated-calls.ts'],
  ['served-network.ts', 'load.ts', 'ask-in-turn.ts', 'shared-calls.ts', 'request-note.ts'],
  ['subscriptions'],
  ['limits', 'usage', 'doctor', 'cache'],
  ['keys', 'spec', 'heads', 'upstream', 'normalise', 'local-chain'],
  ['jsonrpc', 'network', 'metrics', 'slices.ts'],
  // Settings, the log and the package's own folder and version: known to all, knows nobody.
  ['config'],
];

const sources = sourcesIn('gateway');
const imports = sources.flatMap((file) => importsOf(parse(file)));

describe('imports in gateway/', () => {
  it('are found', () => {
    expect(sources.length).toBeGreaterThan(40);
    expect(imports.length).toBeGreaterThan(100);
  });

  it('stand in a folder, or a file, that has its level', () => {
    expect(sources.filter((file) => levelOf(file) === -1)).toEqual([]);
  });

  it('go one way: down, or to the same level by type only', () => {
    expect(imports.filter((one) => isWithin(one.to, 'gateway')).flatMap(complain)).toEqual([]);
  });

  it('make no ring', () => {
    expect(cyclesAmong(imports.filter(({ isType }) => !isType))).toEqual([]);
  });

  it('are of files in gateway/ only, never of tests or of what makes the schemas', () => {
    expect(imports.filter((one) => !isWithin(one.to, 'gateway'))).toEqual([]);
  });

  it('name files that are there', () => {
    expect(imports.filter(({ to }) => !sources.includes(to))).toEqual([]);
  });
});

describe('the process', () => {
  it('is asked for its environment, and ended, in main.ts only', () => {
    const uses = sources.filter((file) => file !== 'gateway/main.ts').flatMap((file) => processUses(parse(file)));
    expect(uses).toEqual([]);
    expect(processUses(parse('gateway/main.ts'))).toContain('gateway/main.ts: env');
  });
});

describe('this check', () => {
  const importsIn = (text: string) => importsOf(parse('gateway/http/x.ts', text));

  it('sees every form of import, and which of them are types', () => {
    const text = [
      "import a from './a.ts';",
      "import type { B } from '../b/b.ts';",
      "import { type C } from './c.ts';",
      "import './d.ts';",
      "export { e } from './e.ts';",
      "export type { F } from './f.ts';",
      "export * from './g.ts';",
      "const h = await import('./h.ts');",
      "type I = import('./i.ts').I;",
      "import pkg from 'yaml';",
      "// import z from './z.ts';",
      'const text = "import y from \'./y.ts\'";',
    ].join('\n');
    expect(importsIn(text).map(({ to, isType }) => `${to}${isType ? ' (type)' : ''}`)).toEqual([
      'gateway/http/a.ts',
      'gateway/b/b.ts (type)',
      'gateway/http/c.ts',
      'gateway/http/d.ts',
      'gateway/http/e.ts',
      'gateway/http/f.ts (type)',
      'gateway/http/g.ts',
      'gateway/http/h.ts',
      'gateway/http/i.ts (type)',
    ]);
  });

  it.each([
    ["import { keys } from '../keys/key.ts';", []],
    ["import type { Command } from '../cli/keys.ts';", []],
    ["import { x } from './other.ts';", []],
    ["import { Command } from '../cli/keys.ts';", ['gateway/http/x.ts → gateway/cli/keys.ts: by type only']],
    ["import type { Gateway } from '../app.ts';", ['gateway/http/x.ts → gateway/server/app.ts: upwards']],
    ["import { openGateway } from '../app.ts';", ['gateway/http/x.ts → gateway/server/app.ts: upwards']],
  ])('%s: %j', (text, complaints) => {
    expect(importsIn(text).flatMap(complain)).toEqual(complaints);
  });

  it('sees a ring', () => {
    const edge = (from: string, to: string): Import => ({ from, to, isType: false });
    expect(cyclesAmong([edge('c', 'a'), edge('a', 'b'), edge('b', 'c'), edge('a', 'd'), edge('x', 'c')])).toEqual([
      'a → b → c',
    ]);
    expect(cyclesAmong([edge('a', 'b'), edge('b', 'c'), edge('a', 'c')])).toEqual([]);
    expect(cyclesAmong([edge('a', 'a')])).toEqual(['a']);
  });

  it('sees the process in every spelling', () => {
    const uses = (text: string) => processUses(parse('x.ts', text));
    for (const text of [
      'process.env.PORT',
      "process['env']",
      'process.exit(1)',
      'const { env } = process;',
      'const { exit: end } = process;',
      'const p = process;',
      "import { env } from 'node:process';",
      "import p from 'process';",
      'globalThis.process.exit();',
      'process[name]',
    ]) {
      expect([text, uses(text).length]).toEqual([text, 1]);
    }
    for (const text of [
      'process.pid',
      'process.exitCode = 1',
      "process.on('exit', f)",
      '// process.env',
      'other.env',
    ]) {
      expect([text, uses(text)]).toEqual([text, []]);
    }
  });
});

function complain({ from, to, isType }: Import): string[] {
  if (unitOf(from) === unitOf(to)) return [];
  if (levelOf(to) < levelOf(from)) return [`${from} → ${to}: upwards`];
  return levelOf(to) === levelOf(from) && !isType ? [`${from} → ${to}: by type only`] : [];
}

/** `gateway/auth/formats/key.ts` is in `keys`, `gateway/server/app.ts` is `app.ts`. */
function unitOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function levelOf(file: string): number {
  return levels.findIndex((units) => units.includes(unitOf(file)));
}

function isWithin(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}
