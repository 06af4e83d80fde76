import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { readSettings } from '../../gateway/config/settings.ts';
import { runKeys } from '../auth/run-keys.ts';
import { loadFiles } from '../network-files/load.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

interface PeerExample {
  readonly peer: string;
  readonly file: string;
  /** Every option at the top level, by the peer's source that the page names. */
  readonly options: readonly string[];
  /** The endpoints in the peer's file, by id. */
  readonly endpointsIn: (text: string) => Readonly<Record<string, string>>;
}

const peers: readonly PeerExample[] = [
  {
    peer: 'eRPC',
    file: 'erpc.yaml',
    options: [
      ...[
        'logLevel',
        'clusterKey',
        'server',
        'healthCheck',
        'admin',
        'database',
        'projects',
        'rateLimiters',
        'metrics',
      ],
      ...['proxyPools', 'tracing'],
    ],
    endpointsIn: (text) => {
      const { projects } = parse(text) as { projects: { upstreams: { id: string; endpoint: string }[] }[] };
      const upstreams = projects.flatMap((project) => project.upstreams);
      return Object.fromEntries(upstreams.map(({ id, endpoint }) => [id, endpoint]));
    },
  },
  {
    peer: 'proxyd',
    file: 'proxyd.toml',
    options: [
      ...['ws_backend_group', 'server', 'cache', 'redis', 'metrics', 'rate_limit', 'backend', 'backends', 'batch'],
      ...['authentication', 'backend_groups', 'rpc_method_mappings', 'ws_method_whitelist', 'whitelist_error_message'],
      ...['sender_rate_limit', 'interop_validation', 'tx_validation_middleware'],
    ],
    endpointsIn: (text) => {
      const backends = text.matchAll(/^\[backends\.([\w-]+)\]\nrpc_url = "([^"]+)"/gm);
      return Object.fromEntries([...backends].map(([, id = '', url = '']) => [id, url.replace(/\$(\w+)/g, '${$1}')]));
    },
  },
  {
    peer: 'nodecore',
    file: 'nodecore.yml',
    options: ['server', 'upstream-config', 'cache', 'auth', 'rate-limit', 'app-storages', 'integration', 'stats'],
    endpointsIn: (text) => {
      const config = parse(text) as {
        'upstream-config': { upstreams: { id: string; connectors: { url: string }[] }[] };
      };
      const { upstreams } = config['upstream-config'];
      return Object.fromEntries(
        upstreams.map(({ id, connectors: [first] }) => [
          id,
          first?.url.replace('provider-key', '${PROVIDER_KEY}') ?? '',
        ]),
      );
    },
  },
];

const page = readFileSync(join(packageRoot, 'docs/reference/migration.md'), 'utf8');
const sectionOf = (peer: string): string => page.split(`\n## From ${peer}\n`)[1]?.split('\n## ')[0] ?? '';

/** The code blocks of a section that start with the name of a file, by that name. */
function filesIn(section: string): Record<string, string> {
  const blocks = [...section.matchAll(/^```\w+\n# (\S+)\n([^]*?)^```$/gm)];
  return Object.fromEntries(blocks.map(([, name = '', text = '']) => [name, text]));
}

/** Network files, by slug. */
function networkFilesIn(section: string): Record<string, string> {
  const files = Object.entries(filesIn(section)).filter(([name]) => name.startsWith('networks/'));
  return Object.fromEntries(files.map(([name, text]) => [name.slice('networks/'.length, -'.yaml'.length), text]));
}

function settingsIn(section: string): Record<string, string> {
  const lines = filesIn(section)['gateway.env']?.trim().split('\n') ?? [];
  return Object.fromEntries(lines.map((line) => line.split('=', 2) as [string, string]));
}

/** The names at the top level of a YAML or TOML text. */
function topLevelOf(file: string, text: string): string[] {
  if (!file.endsWith('.toml')) return Object.keys(parse(text) as object);
  const single = text.split(/^\[/m)[0]?.matchAll(/^(\w+) =/gm) ?? [];
  return [...new Set([...single, ...text.matchAll(/^\[(\w+)/gm)].map(([, name = '']) => name))];
}

/** Runs the command of the example in this process. @returns the key */
async function createKey(dataDir: string, args: readonly string[]): Promise<string> {
  const { out } = await runKeys({ REDIS_URL: undefined, DATA_DIR: dataDir }, [...args, '--json']);
  return (JSON.parse(out) as { key: string }).key;
}

const started: { gateway?: TestGateway } = {};
let nodes: FakeNode[] = [];
afterEach(async () => {
  await started.gateway?.stop();
  delete started.gateway;
  await Promise.all(nodes.map((node) => node.close()));
  nodes = [];
});

describe.each(peers)('docs/reference/migration.md, from $peer', ({ peer, file, options, endpointsIn }) => {
  const section = sectionOf(peer);
  const example = filesIn(section)[file] ?? '';
  const networkFiles = networkFilesIn(section);

  it('has every top-level option', () => {
    const firstTable = section.split('\n\n').find((part) => part.startsWith('| top level of')) ?? '';
    const named = firstTable.split('\n').flatMap((row) => /^\| `([\w-]+)` /.exec(row)?.[1] ?? []);
    expect(named.toSorted()).toEqual(options.toSorted());
    expect(topLevelOf(file, example).filter((name) => !options.includes(name))).toEqual([]);
    expect(topLevelOf(file, example).length).toBeGreaterThan(2);
  });

  it('has an example whose network files have the same endpoints', () => {
    const names = [...new Set([...section.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name))];
    const env = Object.fromEntries(names.map((name) => [name, `${name}-0123456789`]));
    const files = Object.fromEntries(Object.entries(networkFiles).map(([slug, text]) => [`${slug}.yaml`, text]));
    const [network] = loadFiles(files, env);
    const urls = network?.upstreams.map(({ name, url = '' }) => [name, url]) ?? [];
    const expected = Object.entries(endpointsIn(example)).map(([id, url]) => [
      id,
      url.replace(/\$\{(\w+)\}/g, (_, name: string) => env[name] ?? ''),
    ]);
    expect(expected).toHaveLength(2);
    expect(urls).toEqual(expect.arrayContaining(expected));
    expect(network).toMatchObject({ slug: 'ethereum-mainnet', chainId: 1 });
  });

  it('has an example that serves calls, and fails over as the peer does', { timeout: 60_000 }, async () => {
    const [own, backup] = (nodes = await Promise.all([1, 1].map((chainId) => startFakeNode({ chainId }))));
    own?.response('eth_getBalance', '0x1');
    backup?.response('eth_getBalance', '0x2');
    // In place of the hosts of the example, which no test contacts.
    const local = Object.entries(networkFiles).map(([slug, text]) => [
      slug,
      text
        .replaceAll('http://10.0.0.5:8545', own?.url ?? '')
        .replaceAll(/https:\/\/eth\.example\.com\/[^']*/g, backup?.url ?? '')
        .replaceAll(/provider: alchemy, key: '[^']*'/g, `name: alchemy, url: '${own?.url ?? ''}'`),
    ]);
    const settings = settingsIn(section);
    expect(Object.keys(readSettings(settings))).toEqual(expect.arrayContaining(Object.keys(settings)));
    // Ports are free ones, and the test's log is silent.
    const others = Object.entries(settings).filter(([name]) => !['PORT', 'OPS_PORT', 'LOG_LEVEL'].includes(name));
    const gateway = (started.gateway = await startGateway(
      Object.fromEntries(local) as Record<string, string>,
      Object.fromEntries(others),
    ));
    const [, command = ''] = /^gatehouse keys (create .*)$/m.exec(section) ?? [];
    const key = await createKey(gateway.dataDir, command.split(' '));
    // Of another address each, so that no response is cached.
    const balanceOf = async (digit: string): Promise<unknown> => {
      const params = [`0x${digit.repeat(40)}`, 'latest'];
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params });
      const response = await fetch(`${gateway.address}/ethereum-mainnet/v3/${key}`, { method: 'POST', body });
      return ((await response.json()) as { result?: unknown }).result;
    };
    // The gateway reads the new key from the file within a second.
    await expect.poll(() => balanceOf('1'), { timeout: 10_000 }).toBe('0x1');
    await own?.refuse();
    expect(await balanceOf('2')).toBe('0x2');
  });
});
