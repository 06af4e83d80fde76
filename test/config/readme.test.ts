import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkNetworks } from '../../gateway/cli/check.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { settingRows } from '../../gateway/config/settings.ts';
import { ruleFields } from '../../gateway/keys/key-rules.ts';
import { reasons, RpcError } from '../../gateway/jsonrpc/errors.ts';
import { loadNetworks } from '../../gateway/network/load-networks.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { load, mistakesOf } from '../network/load.ts';

const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');

/** The rows of the table under a heading, without its head: cells, trimmed. */
function tableUnder(heading: string): string[][] {
  const [, section = ''] = readme.split(`\n## ${heading}\n`);
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** What README says of each method; a row may tell of several. */
function toldMethods(): Map<string, string> {
  const rows = tableUnder('Methods').map(([names = '', meaning = '']) => ({ names: names.split(', '), meaning }));
  return new Map(rows.flatMap(({ names, meaning }) => names.map((name) => [name.replaceAll('`', ''), meaning])));
}

function codeUnder(heading: string, language: string): string {
  const [, section = ''] = readme.split(`\n## ${heading}\n`);
  return section.split(`\n\`\`\`${language}\n`)[1]?.split('\n```')[0] ?? '';
}

describe('README', () => {
  it('tells every setting, its default and its meaning, in the order of the table in the code, and no other', () => {
    const rows = settingRows.map(({ name, default: value, meaning }) => [
      `\`${name}\``,
      value === undefined ? 'unset' : `\`${value}\``,
      meaning,
    ]);
    expect(tableUnder('Settings')).toEqual(rows);
  });

  it('tells every error of ours, and no other', () => {
    const rows = reasons.map((reason) => {
      const { code, status, message } = new RpcError(reason);
      return [`\`${reason}\``, String(code), String(status), message];
    });
    expect(tableUnder('Errors')).toEqual(rows);
  });

  it('tells every rule that a key may have, its flag and its meaning', () => {
    const rows = ruleFields.map(({ name, flag, meaning }) => [
      ...[`\`${name}\``, flag === '' ? '' : `\`${flag}\``, meaning],
    ]);
    expect(tableUnder('Keys')).toEqual(rows);
  });

  it('tells every method of the spec, and no other', () => {
    expect([...toldMethods().keys()].toSorted()).toEqual(methods.map(({ name }) => name).toSorted());
  });

  it('says of a method that it may be null, may revert, or is answered locally, as the spec does', () => {
    const meanings = toldMethods();
    for (const { name, nullable, reverts, answer } of methods) {
      const meaning = meanings.get(name) ?? '';
      expect([name, /\bnull\b/.test(meaning)]).toEqual([name, nullable]);
      expect([name, /\banswered by the gateway itself\b/.test(meaning)]).toEqual([name, answer === 'local']);
      expect([name, meaning.includes('code 3')]).toEqual([name, reverts]);
    }
  });

  it('tells every network that comes with the gateway, and no other', () => {
    const folder = join(packageRoot, 'networks');
    const knownMethods = methods.map(({ name }) => name);
    const rows = loadNetworks({ folder, knownMethods, env: {} }).map(({ slug, name, chainId }) => [
      ...[name, `\`${slug}\``, String(chainId)],
    ]);
    expect(tableUnder('Networks').toSorted()).toEqual(rows.toSorted());
  });

  it('shows what `gatehouse check` says of a network', () => {
    const { text } = checkNetworks('networks', {}, false);
    // An example: it need not change whenever a method is added.
    const line = /^networks\/base\.yaml: Base, .* (?=\d+ methods$)/m;
    expect(line.exec(text)).not.toBeNull();
    expect(line.exec(readme)?.[0]).toBe(line.exec(text)?.[0]);
  });

  it('has a network file that loads', () => {
    const yaml = codeUnder('Networks', 'yaml');
    const [network] = load({ 'ethereum-mainnet.yaml': yaml }, { PROVIDER_KEY: 'k', PROVIDER_TOKEN: 't' });
    expect(network).toMatchObject({
      name: 'Ethereum Mainnet',
      chainId: 1,
      baseUrls: ['https://mainnet.example.org'],
      upstreams: [
        { name: 'our-node', url: 'http://10.0.0.5:8545' },
        { url: 'https://eth.example.com/v2/k', headers: { authorization: 'Bearer t' }, timeoutMs: 4000 },
      ],
    });
    // The header's variable has a default, the URL's has none.
    expect(mistakesOf(yaml)).toEqual([expect.stringContaining('the environment has no PROVIDER_KEY')]);
  });

  it('shows a mistake in a network file as it is told', () => {
    const shown = /^networks\/base\.yaml:7:5 (.*)$/m.exec(readme)?.[0].replace('networks/base.yaml:', '');
    const lines = [
      '# Base',
      'name: Base',
      'chainId: 8453',
      'upstreams:',
      '  - name: one',
      '    url: https://one',
      '    timeout: 5',
    ];
    expect(mistakesOf(lines)).toEqual([shown]);
  });
});
