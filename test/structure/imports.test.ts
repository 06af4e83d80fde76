import { describe, expect, it } from 'vitest';
import { cyclesAmong, importsOf, parse, processUses, sourcesIn, type Import } from './imports.ts';

/**
 * The layers of gateway/ from top to bottom, each with its folders. A file imports only from its own folder and from
 * folders in lower layers, types included. A folder inside another one has its own place in the layers; in the same layer, the
 * two are one folder.
 */
const layers: readonly (readonly string[])[] = [
  ['main.ts'],
  ['program.ts'],
  ['start.ts'],
  ['server'],
  ['server/websocket', 'server/ops'],
  ['server/pages'],
  ['server/http'],
  ['networks', 'cli'],
  ['call', 'call/rules'],
  ['subscriptions', 'doctor', 'ranges', 'backup'],
  ['subscriptions/feeds'],
  ['verify'],
  ['verify/evidence'],
  ['verify/proofs'],
  ['routing', 'cache', 'normalise', 'limits', 'usage', 'history', 'auth/manage'],
  ['normalise/errors', 'normalise/results', 'upstreams/transactions'],
  ['upstreams', 'auth', 'observability'],
  ['chain'],
  ['chain/logs'],
  ['upstreams/health', 'auth/tokens', 'drains'],
  ['upstreams/transport', 'auth/stores'],
  ['upstreams/transport/connect'],
  ['auth/permissions', 'store'],
  ['auth/formats', 'metrics', 'redis', 'workers'],
  ['memory'],
  ['admission'],
  ['routing-policy'],
  ['spec'],
  ['jsonrpc', 'network-files'],
  ['json'],
  ['network-files/options'],
  ['config', 'collections', 'event-loop'],
  ['clock'],
];

const sources = sourcesIn('gateway');
/** The types of local-chain/ and its one entry, which is loaded at run time, may be imported from everywhere. */
const isOfLocalChain = ({ to, isType }: Import): boolean =>
  isWithin(to, 'local-chain') && (isType || to === 'local-chain/local-chain.ts');
const imports = sources.flatMap((file) => importsOf(parse(file))).filter((one) => !isOfLocalChain(one));
const schemaImports = sourcesIn('schemas').flatMap((file) => importsOf(parse(file)));

describe('the layers of gateway/', () => {
  it('contain every folder with files', () => {
    expect([...new Set(sources.map(folderOf))].filter((folder) => layerOf(folder) === -1)).toEqual([]);
  });

  it('contain no other folder', () => {
    const folders = new Set(sources.map(folderOf));
    expect(layers.flat().filter((folder) => !folders.has(folder))).toEqual([]);
  });
});

describe('imports in gateway/', () => {
  it('are found', () => {
    expect(sources.length).toBeGreaterThan(200);
    expect(imports.length).toBeGreaterThan(800);
  });

  it('go downwards, types included', () => {
    expect(imports.filter((one) => isWithin(one.to, 'gateway')).flatMap(describeViolation)).toEqual([]);
  });

  it('have no cycle, types included', () => {
    expect(cyclesAmong([...imports, ...schemaImports])).toEqual([]);
  });

  it('are imports of files in gateway/, never of tests or of the generators in schemas/', () => {
    expect(imports.filter((one) => !isWithin(one.to, 'gateway'))).toEqual([]);
  });

  it('name files that exist', () => {
    expect(imports.filter(({ to }) => !sources.includes(to))).toEqual([]);
  });
});

describe('the process', () => {
  it('is ended in main.ts and start.ts only, and its environment read in main.ts only', () => {
    const others = sources.filter((file) => file !== 'gateway/main.ts');
    const uses = new Set(others.flatMap((file) => processUses(parse(file))));
    expect([...uses]).toEqual(['gateway/start.ts: exit']);
    expect(processUses(parse('gateway/main.ts'))).toContain('gateway/main.ts: env');
  });
});

describe('this check', () => {
  const importsIn = (text: string) => importsOf(parse('gateway/call/x.ts', text));

  it('finds every form of import, and recognises type imports', () => {
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
      'gateway/call/a.ts',
      'gateway/b/b.ts (type)',
      'gateway/call/c.ts',
      'gateway/call/d.ts',
      'gateway/call/e.ts',
      'gateway/call/f.ts (type)',
      'gateway/call/g.ts',
      'gateway/call/h.ts',
      'gateway/call/i.ts (type)',
    ]);
  });

  it.each([
    ["import { Ranking } from '../routing/ranking.ts';", []],
    ["import type { Network } from './network.ts';", []],
    ["import { x } from './other.ts';", []],
    ["import type { App } from '../server/app.ts';", ['gateway/call/x.ts -> gateway/server/app.ts: upwards']],
    [
      "import { listen } from '../server/http/listen.ts';",
      ['gateway/call/x.ts -> gateway/server/http/listen.ts: upwards'],
    ],
  ])('%s: %j', (text, violations) => {
    expect(importsIn(text).flatMap(describeViolation)).toEqual(violations);
  });

  it('permits imports between a folder and one inside it, if both are in one layer', () => {
    const both = [
      parse('gateway/call/x.ts', "import { y } from './rules/y.ts';"),
      parse('gateway/call/rules/y.ts', "import type { Z } from '../z.ts';"),
    ];
    expect(both.flatMap((file) => importsOf(file)).flatMap(describeViolation)).toEqual([]);
  });

  it('rejects imports between folders of one layer, types included', () => {
    const [one] = importsOf(parse('gateway/auth/x.ts', "import type { Upstream } from '../upstreams/upstream.ts';"));
    expect(one === undefined ? [] : describeViolation(one)).toEqual([
      'gateway/auth/x.ts -> gateway/upstreams/upstream.ts: the same layer',
    ]);
  });

  it('finds a cycle', () => {
    const edge = (from: string, to: string): Import => ({ from, to, isType: false });
    expect(cyclesAmong([edge('c', 'a'), edge('a', 'b'), edge('b', 'c'), edge('a', 'd'), edge('x', 'c')])).toEqual([
      'a → b → c',
    ]);
    expect(cyclesAmong([edge('a', 'b'), edge('b', 'c'), edge('a', 'c')])).toEqual([]);
    expect(cyclesAmong([edge('a', 'a')])).toEqual(['a']);
  });

  it('finds uses of process in every spelling', () => {
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

function describeViolation({ from, to }: Import): string[] {
  const [above, below] = [folderOf(from), folderOf(to)];
  if (above === below) return [];
  if (layerOf(below) < layerOf(above)) return [`${from} -> ${to}: upwards`];
  if (isWithin(above, below) || isWithin(below, above)) return [];
  return layerOf(below) === layerOf(above) ? [`${from} -> ${to}: the same layer`] : [];
}

/** `gateway/auth/stores/key-store.ts` is in `auth/stores`; a file directly in gateway/ has a place by itself. */
function folderOf(file: string): string {
  const parts = file.split('/').slice(1);
  return parts.length === 1 ? (parts[0] ?? '') : parts.slice(0, -1).join('/');
}

function layerOf(folder: string): number {
  return layers.findIndex((folders) => folders.includes(folder));
}

function isWithin(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}
