import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { FailsafeTable } from '../../gateway/routing/failsafe-table.ts';
import { passThroughSpec } from '../../gateway/spec/method-facts.ts';
import { attemptTimesMs, methodGroups, type MethodSpec } from '../../gateway/spec/method-spec.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { loadFiles } from '../network-files/load.ts';

const read = (page: string): string => readFileSync(join(packageRoot, page), 'utf8');

/** The YAML under a heading of a page. */
function exampleUnder(page: string, heading: string): string {
  const section = read(page).split(`\n${heading}\n`)[1] ?? '';
  return /```yaml\n([^]*?)```/.exec(section)?.[1] ?? '';
}

const specOf = (name: string): MethodSpec => methods.find((method) => method.name === name) ?? passThroughSpec(name);

describe('the examples of docs/networks.md and docs/routing.md', () => {
  it('send user operations to bundlers only', () => {
    const [network] = loadFiles({ 'base.yaml': exampleUnder('docs/routing.md', '## Bundlers') });
    expect(network?.route).toMatchObject({
      'eth_getUserOperation*': ['bundler-1', 'bundler-2'],
      'pm_*': ['bundler-1'],
    });
  });

  it('of times by method is what the page says', () => {
    const [network] = loadFiles({ 'base.yaml': exampleUnder('docs/routing.md', '### Times and attempts by method') });
    if (network === undefined) throw new Error('the example was not loaded');
    const [node, archive] = network.upstreams.map((config) => ({ config }));
    if (node === undefined || archive === undefined) throw new Error('the example has two upstreams');
    const table = new FailsafeTable(network, [node, archive], undefined, 15_000);
    const valuesOf = (method: string): unknown[] => {
      const { timeoutMs, hedgeAfterMs, maxAttempts } = table.of(specOf(method));
      return [timeoutMs.get(node), timeoutMs.get(archive), hedgeAfterMs.get(node), maxAttempts];
    };
    expect(valuesOf('eth_getLogs')).toEqual([4_000, 20_000, 'off', 3]);
    expect(valuesOf('eth_call')).toEqual([4_000, 3_000, 400, 2]);
    expect(valuesOf('eth_getBalance')).toEqual([4_000, 5_000, undefined, 3]);
    expect(valuesOf('debug_traceCall')).toEqual([4_000, 60_000, undefined, Infinity]);
  });

  it('of shared options are used by a network', () => {
    const defaults = exampleUnder('docs/networks.md', '## Options that networks share');
    expect(defaults.split('\n')[0]).toBe('# yaml-language-server: $schema=../schemas/defaults.schema.json');
    const files = { 'defaults.yaml': defaults, 'base.yaml': 'name: Base\nchainId: 8453\n' };
    const keys = { ALCHEMY_KEY: '0123456789abcdef', DRPC_KEY: '0123456789abcdef' };
    const [network] = loadFiles(files, keys);
    expect(network).toMatchObject({ verify: { nulls: 'always' }, upstreams: [{ name: 'alchemy' }, { name: 'drpc' }] });
  });

  it.each(['## Network file', '## Providers'])('under %s is valid', (heading) => {
    const names = [...exampleUnder('docs/networks.md', heading).matchAll(/\$\{(?:file:)?([\w/]+)\}/g)].map(
      ([, name = '']) => name,
    );
    const text = exampleUnder('docs/networks.md', heading).replace(/\$\{file:[^}]+\}/g, '0123456789abcdef');
    const env = Object.fromEntries(names.map((name) => [name, '0123456789abcdef']));
    expect(loadFiles({ 'example.yaml': text }, env)[0]?.upstreams.length).toBeGreaterThan(1);
  });
});

it('docs/routing.md has the time of each group', () => {
  const section = read('docs/routing.md').split('\n### Time limits\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| `(\w+)` .* (\d+) s +\|$/gm)].map(([, group, seconds]) => [
    group,
    Number(seconds) * 1_000,
  ]);
  expect(rows).toEqual(methodGroups.map((group) => [group, attemptTimesMs[group]]));
});
