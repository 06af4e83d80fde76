import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkNetworks } from '../../gateway/cli/check.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { settingRows } from '../../gateway/config/settings.ts';
import { permissionFields, permissionNames } from '../../gateway/auth/permissions/permission-fields.ts';
import { reasons, RpcError } from '../../gateway/jsonrpc/errors.ts';
import { loadNetworks } from '../../gateway/network-files/load-networks.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { loadFiles, diagnosticsOf } from '../network-files/load.ts';

/** The rows of the table under a heading of a page, without its head: cells, trimmed. */
function tableUnder(page: string, heading: string): string[][] {
  const [, section = ''] = textOf(page).split(`\n## ${heading}\n`);
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim()),
  );
}

function textOf(page: string): string {
  return readFileSync(join(packageRoot, page), 'utf8');
}

function stale(page: string): string {
  return `${page} is stale: run \`npm run generate\``;
}

function codeUnder(page: string, heading: string, language: string): string {
  const [, section = ''] = textOf(page).split(`\n## ${heading}\n`);
  return section.split(`\n\`\`\`${language}\n`)[1]?.split('\n```')[0] ?? '';
}

describe('the generated tables in docs/', () => {
  it('settings.md has every setting, its default and its meaning, in the order of the code', () => {
    const rows = settingRows.map(({ name, default: value, meaning, isDivided }) => [
      `\`${name}\``,
      value === undefined ? 'unset' : `\`${value}\``,
      isDivided === true ? `${meaning}; divided among workers` : meaning,
    ]);
    expect(tableUnder('docs/reference/settings.md', 'Settings'), stale('docs/reference/settings.md')).toEqual(rows);
  });

  it('errors.md has every error of the gateway', () => {
    const rows = reasons.map((reason) => {
      const { code, status, message } = new RpcError(reason);
      return [`\`${reason}\``, String(code), String(status), message];
    });
    expect(tableUnder('docs/errors.md', 'Errors of the gateway'), stale('docs/errors.md')).toEqual(rows);
  });

  it('keys.md has every permission and limit, its flag and its meaning', () => {
    const rows = permissionNames.map((name) => {
      const { flag, meaning } = permissionFields[name];
      return [`\`${name}\``, flag === undefined ? '' : `\`${flag}\``, meaning];
    });
    const shown = tableUnder('docs/keys.md', 'Permissions and limits');
    expect(
      shown.map((cells) => cells.slice(0, 3)),
      'docs/keys.md is stale: run `npm run generate`',
    ).toEqual(rows);
    const rejections = new Map(shown.map((cells) => [cells[0], cells[3]]));
    for (const [field, rejection] of [
      ['`networks`', 'requests, 403'],
      ['`expiresAt`', 'requests, 401'],
      ['`contracts`', 'calls, 403'],
      ['`daily`', 'bodies, 429'],
      ['`burst`', 'bodies, 429; requires `rate`'],
    ]) {
      expect([field, rejections.get(field)]).toEqual([field, rejection]);
    }
  });

  it('methods.md has every method of the spec, and whether its result may be null, whether it may revert, and whether it is served locally', () => {
    const rows = tableUnder('docs/reference/methods.md', 'Standard methods');
    const meanings = new Map(rows.map(([name = '', meaning = '']) => [name.replaceAll('`', ''), meaning]));
    expect([...meanings.keys()].toSorted()).toEqual(methods.map(({ name }) => name).toSorted());
    for (const { name, nullable, reverts, handledBy } of methods) {
      const meaning = meanings.get(name) ?? '';
      expect([name, /\bnull\b/.test(meaning)]).toEqual([name, nullable]);
      expect([name, meaning.includes('Served by the gateway itself')]).toEqual([name, handledBy === 'local']);
      expect([name, meaning.includes('code 3')]).toEqual([name, reverts]);
    }
  });

  it('network-options.md has every option of the schema, and networks.md every network that comes with the gateway', () => {
    const options = tableUnder('docs/reference/network-options.md', 'Options').map(([option]) => option);
    expect(options).toEqual(expect.arrayContaining(['`chainId`', '`upstreams[].url`', '`upstreams[].limits.burst`']));
    const knownMethods = methods.map(({ name }) => name);
    const rows = loadNetworks({ folder: join(packageRoot, 'networks'), knownMethods, env: {} }).map(
      ({ slug, name, chainId }) => [name, `\`${slug}\``, String(chainId)],
    );
    expect(tableUnder('docs/networks.md', 'Networks included')).toEqual(rows);
  });
});

it('an operator has at most 40 settings of Gatehouse, and 70 options of a network', () => {
  // Those of OpenTelemetry have its names and meanings.
  const own = settingRows.filter(({ name }) => !name.startsWith('OTEL_'));
  expect(own.length).toBeLessThanOrEqual(40);
  const options = tableUnder('docs/reference/network-options.md', 'Options');
  expect(options.length).toBeGreaterThan(50);
  expect(options.length).toBeLessThanOrEqual(70);
});

describe('the examples in README.md and docs/networks.md', () => {
  it('show what `gatehouse check` prints for a network', () => {
    const { text } = checkNetworks({ NETWORKS_DIR: 'networks' }, {}, false);
    // Without the number of methods, which changes with every new method.
    const line = /^networks\/base\.yaml: Base, .* (?=\d+ methods$)/m;
    expect(line.exec(text)).not.toBeNull();
    expect(line.exec(textOf('docs/networks.md'))?.[0]).toBe(line.exec(text)?.[0]);
  });

  it('have network files that load', () => {
    const yaml = codeUnder('docs/networks.md', 'Network file', 'yaml');
    const [network] = loadFiles({ 'ethereum-mainnet.yaml': yaml }, { PROVIDER_KEY: 'k', PROVIDER_TOKEN: 't' });
    expect(network).toMatchObject({
      name: 'Ethereum Mainnet',
      chainId: 1,
      baseUrls: ['https://mainnet.example.org'],
      upstreams: [
        { name: 'our-node', url: 'http://10.0.0.5:8545' },
        {
          url: 'https://eth.example.com/v2/k',
          headers: { authorization: 'Bearer t' },
          failsafe: { '*': { timeoutMs: 4000 } },
        },
      ],
    });
    // The header's variable has a default, the URL's has none.
    expect(diagnosticsOf(yaml)).toEqual([expect.stringContaining('the environment has no PROVIDER_KEY')]);
    const short = codeUnder('README.md', 'First network', 'yaml');
    expect(loadFiles({ 'base.yaml': short }, { PROVIDER_KEY: 'k' })[0]).toMatchObject({ name: 'Base', chainId: 8453 });
  });

  it('show a diagnostic as `gatehouse check` prints it', () => {
    const shown = /^networks\/base\.yaml:7:5 (.*)$/m
      .exec(textOf('docs/networks.md'))?.[0]
      .replace('networks/base.yaml:', '');
    const lines = [
      '# Base',
      'name: Base',
      'chainId: 8453',
      'upstreams:',
      '  - name: one',
      '    url: https://one',
      '    timeout: 5',
    ];
    expect(diagnosticsOf(lines)).toEqual([shown]);
  });
});
