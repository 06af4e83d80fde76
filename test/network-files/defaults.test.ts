import { describe, expect, it } from 'vitest';
import { networkOptions } from '../../gateway/network-files/options/network-options.ts';
import { verifyOptions } from '../../gateway/network-files/options/verify-option.ts';
import { diagnosticsIn, loadFiles } from './load.ts';

const base = 'name: Base\nchainId: 8453\n';
const optimism = 'name: OP\nchainId: 10\n';
const upstreams = 'upstreams:\n  - { name: one, url: https://one.example }\n';

/** Diagnostics of a folder with these files; `defaults` is defaults.yaml. */
const diagnosticsWith = (defaults: string, files: Record<string, string> = {}): string[] =>
  diagnosticsIn({ 'defaults.yaml': defaults, 'base.yaml': base + upstreams, ...files });

describe('defaults.yaml', () => {
  it('is no network, and has the options that a network file lacks', () => {
    const files = {
      'defaults.yaml': `balance: latency\nmethods: [eth, net]\nunits: { eth_call: 3, eth_getLogs: 20 }\n${upstreams}`,
      'base.yaml': base,
      'op.yaml': `${optimism}balance: first\nmethods: [web3, eth_call]\nunits: { eth_call: 5 }\nupstreams: [{ name: two, url: https://two.example }]\n`,
    };
    const networks = loadFiles(files).map(({ slug, balance, methods, units, upstreams: [first], ...others }) => [
      slug,
      {
        balance,
        hasEth: methods.includes('eth_getLogs'),
        hasWeb3: methods.includes('web3_sha3'),
        units,
        url: first?.url,
      },
      others.cache,
    ]);
    // Maps are merged member by member. Lists are not joined.
    expect(networks).toEqual([
      [
        'base',
        {
          balance: 'latency',
          hasEth: true,
          hasWeb3: false,
          units: { eth_call: 3, eth_getLogs: 20 },
          url: 'https://one.example',
        },
        'on',
      ],
      [
        'op',
        {
          balance: 'first',
          hasEth: false,
          hasWeb3: true,
          units: { eth_call: 5, eth_getLogs: 20 },
          url: 'https://two.example',
        },
        'on',
      ],
    ]);
  });

  it('may have every option except for those that identify a network', () => {
    const identifying = ['name', 'chainId', 'baseUrls'];
    const members = Object.keys(networkOptions).map((name) => `${name}: { wrong: map }\n`);
    const found = diagnosticsWith(members.join(''));
    for (const [index, name] of Object.keys(networkOptions).entries()) {
      const own = found.filter((line) => line.startsWith(`defaults.yaml:${index + 1}:`));
      const message: unknown = identifying.includes(name)
        ? `defaults.yaml:${index + 1}:1 ${name} identifies one network: write it in the file of the network`
        : expect.stringMatching(new RegExp(`^defaults\\.yaml:${index + 1}:\\d+ ${name}[.: ]`));
      expect([name, own]).toEqual([name, expect.arrayContaining([message])]);
    }
    expect(found.filter((line) => !line.startsWith('defaults.yaml:'))).toEqual([]);
  });

  it('may be empty', () => {
    expect(diagnosticsWith('')).toEqual([]);
    expect(diagnosticsWith('# none\n')).toEqual([]);
  });

  it('has each of its diagnostics once, at its own position', () => {
    const networks = { 'op.yaml': optimism, 'third.yaml': 'name: Third\nchainId: 3\n' };
    expect(
      diagnosticsWith(
        `balanc: latency\nbalance: latencyy\nupstreams:\n  - name: one\n    url: https://one.example\n    timeout: 5\n`,
        networks,
      ),
    ).toEqual([
      'defaults.yaml:1:1 balanc is not known; did you mean balance?',
      'defaults.yaml:2:10 balance: expected first, latency, round-robin or weighted; did you mean latency?',
      'defaults.yaml:6:5 upstreams[0].timeout is not known: write failsafe: { timeoutMs: … }',
    ]);
  });

  it('has diagnostics that depend on networks, with their names', () => {
    const defaults = "upstreams: [{ provider: infura, key: '${INFURA_KEY}' }]\n";
    const networks = {
      'op.yaml': optimism,
      'fantom.yaml': 'name: Fantom\nchainId: 250\n',
      'base.yaml': base + upstreams,
    };
    expect(diagnosticsWith(defaults, networks)).toEqual([
      'defaults.yaml:1:25 upstreams[0].provider: infura does not serve chain 250; these do: blockpi, drpc, onfinality, publicnode (for fantom.yaml)',
      'defaults.yaml:1:38 upstreams[0].key: the environment has no INFURA_KEY; set it, or write ${INFURA_KEY:-default} (for fantom.yaml and 1 more)',
    ]);
  });

  it('shares the members of maps that network files lack, at each level', () => {
    const defaults =
      'bounds: { maxBlockRange: 1000, maxAddresses: 50 }\n' +
      'failsafe: { timeoutMs: 3000, eth_getLogs: { timeoutMs: 9000, hedgeAfterMs: off } }\n' +
      `verify: enforce\n${upstreams}`;
    const own =
      'bounds: { maxAddresses: 5 }\nfailsafe: { maxAttempts: 2, eth_getLogs: { timeoutMs: 8000 } }\nverify: { nulls: always }\n';
    const [network] = loadFiles({ 'defaults.yaml': defaults, 'base.yaml': base + own });
    expect(network).toMatchObject({
      bounds: { maxBlockRange: 1000, maxAddresses: 5, maxResponseBytes: 25_000_000 },
      failsafe: { '*': { timeoutMs: 3000, maxAttempts: 2 }, eth_getLogs: { timeoutMs: 8000, hedgeAfterMs: 'off' } },
      verify: { level: 'enforce', nulls: 'always' },
    });
  });

  it.each([
    ['verify: enforce', 'verify: { nulls: always }', { level: 'enforce', nulls: 'always' }],
    ['verify: { nulls: always }', 'verify: enforce', { level: 'enforce', nulls: 'always' }],
    ['verify: { level: { eth_call: require } }', 'verify: off', { level: 'off' }],
    ['verify: enforce', '', { level: 'enforce' }],
  ])('merges a level of verify with a map: %s, and %s', (defaults, own, expected) => {
    const [network] = loadFiles({ 'defaults.yaml': `${defaults}\n${upstreams}`, 'base.yaml': `${base}${own}\n` });
    expect(verifyOptions(network?.verify ?? 'off')).toEqual(verifyOptions(expected as never));
  });

  it('has the position of each member of a map that both files have', () => {
    const defaults = 'bounds:\n  maxBlockRange: 0\nfailsafe:\n  eth_getLog: { timeoutMs: 5 }\n';
    const own = `${base}bounds: { maxAddresses: 0 }\nfailsafe: { eth_cal: { timeoutMs: 5 } }\n${upstreams}`;
    expect(diagnosticsWith(defaults, { 'base.yaml': own, 'op.yaml': optimism + upstreams })).toEqual([
      'defaults.yaml:2:18 bounds.maxBlockRange: expected whole number from 1',
      expect.stringMatching(/^defaults\.yaml:4:3 failsafe\.eth_getLog is no method .* did you mean eth_getLogs/),
      'base.yaml:3:25 bounds.maxAddresses: expected whole number from 1',
      expect.stringMatching(/^base\.yaml:4:13 failsafe\.eth_cal is no method .* did you mean eth_call/),
    ]);
  });

  it('has an error for a name that is a method of no network, also if networks differ in the similar names', () => {
    const defaults = `route:\n  eth_sendRawTransactoin: [one]\nunits:\n  eth_cal: 5\n  eth_chainId: 2\n${upstreams}`;
    const networks = {
      'base.yaml': `${base}methods: [eth, net]\n`,
      'op.yaml': `${optimism}methods: [net, eth_chainId]\n`,
      'third.yaml': 'name: Third\nchainId: 3\nmethods: [net, web3]\n',
    };
    expect(diagnosticsWith(defaults, networks)).toEqual([
      'defaults.yaml:2:3 route.eth_sendRawTransactoin is no method of the network; did you mean eth_sendRawTransaction? (for base.yaml and 2 more)',
      'defaults.yaml:4:3 units.eth_cal is no method of the network; did you mean eth_call? (for base.yaml and 2 more)',
    ]);
  });

  it('leaves the positions of what network files have', () => {
    expect(diagnosticsWith('maxLagBlocks: 0\n', { 'base.yaml': `${base}maxLagBlocks: -1\n${upstreams}` })).toEqual([
      'defaults.yaml:1:15 maxLagBlocks: expected whole number from 1 to 100000',
      'base.yaml:3:15 maxLagBlocks: expected whole number from 1 to 100000',
    ]);
    expect(diagnosticsWith('maxLagBlocks: 60\n', { 'base.yaml': base })).toEqual([
      'base.yaml:1:1 upstreams is missing: expected list of at least one upstream',
    ]);
  });

  it.each([
    ['that is not YAML', 'units: [', 'the indentation does not fit the lines before, or a bracket is not closed'],
    ['with a name twice', 'cache: on\ncache: off\n', 'this name appears twice in the same map'],
  ])('%s has the only diagnostic, because networks may need its options', (_, text, message) => {
    expect(diagnosticsWith(text, { 'op.yaml': optimism })).toEqual([
      expect.stringMatching(`^defaults.yaml:\\d+:\\d+ ${message}$`),
    ]);
  });

  it('that is a list has one diagnostic', () => {
    expect(diagnosticsWith('- cache: on\n')).toEqual([
      'defaults.yaml:1:1 the file: expected map with options of networks, not a list',
    ]);
  });

  it('alone is no configuration', () => {
    expect(diagnosticsIn({ 'defaults.yaml': upstreams })).toEqual([
      expect.stringContaining('the folder has no network file (<slug>.yaml)'),
    ]);
  });
});
