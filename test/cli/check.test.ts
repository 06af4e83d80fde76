import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { freePort } from '../support/redis.ts';
import { CommandFolder } from '../support/command-folder.ts';

const EX_CONFIG = 78;
const secret = 'S3cretOfAProvider';
const url = `https://me:${secret}@node.example/v2/${secret}`;
const base = { name: 'Base', chainId: 8453, upstreams: [{ name: 'a', url, headers: { 'x-key': secret } }] };
const few = { ...base, name: 'Few', chainId: 5, methods: ['eth_chainId'], baseUrls: ['https://few.example.org'] };
const broken = [
  'name: Broken',
  'chainId: zero',
  'upstreams:',
  `  - { name: a, timeout: 5, url: ${url} }`,
  '  - { name: b, url: "https://b.example/${KEY_OF_B}" }',
].join('\n');

/** Number of methods of a network whose file does not list them. */
const served = methods.filter(({ namespace }) => ['eth', 'net', 'web3', 'rpc'].includes(namespace)).length;

let place: CommandFolder;

beforeEach(() => {
  place = new CommandFolder();
});
afterEach(() => place.close());

const check = (args: string[] = [], env: Record<string, string> = {}) => place.run(['check', ...args], env);

describe('gatehouse check', () => {
  it('prints a line for each network if all files are valid', async () => {
    const two = { ...base, upstreams: [...base.upstreams, { name: 'b', url: 'https://b.example/${KEY_OF_B}' }] };
    place.withNetworks({ two, few });
    expect(await check([], { KEY_OF_B: secret })).toMatchObject({
      code: 0,
      stdout:
        'networks/few.yaml: Few, chain 5, 1 upstream, 1 method\n' +
        `networks/two.yaml: Base, chain 8453, 2 upstreams, ${served} methods\n` +
        '  2 groups: a; b\n',
      stderr: '',
    });
  });

  it('reads auth.yaml and the key set, and reports them together with network files', async () => {
    const auth = 'issuer: https://issuer.example\naudience: gatehouse\nkeySet: jwks.json\nplans:\n';
    place.withNetworks({ few: { ...few, nam: 'x' }, auth: `${auth}  free: { rat: 5 }\n` });
    const { code, stderr } = await check();
    expect(stderr).toMatch(
      /few\.yaml:1:\d+ nam is not known[^]*auth\.yaml:5:\d+ plans\.free\.rat is not known; did you mean rate/,
    );
    expect(code).toBe(EX_CONFIG);
    place.withNetworks({ few, auth: `${auth}  free: { rate: 5 }\n` });
    expect((await check()).stderr).toMatch(/auth\.yaml:3:9 keySet: the file has no key set \(ENOENT\)/);
    writeFileSync(join(place.folder, 'networks/jwks.json'), '{"keys":[]}');
    expect(await check()).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout:
        'networks/auth.yaml: tokens of https://issuer.example, plans free\n' +
        'networks/few.yaml: Few, chain 5, 1 upstream, 1 method\n',
    });
  });

  it('prints defaults.yaml as read, and notes rates with which a lookup takes longer than a second', async () => {
    const auth = { issuer: 'https://issuer.example', audience: 'a', keySet: 'https://issuer.example/keys' };
    place.withNetworks({
      few,
      defaults: { public: { rate: 10, total: { rate: 900 } } },
      auth: { ...auth, plans: { free: { rate: 10 }, large: { rate: 800 } } },
    });
    expect((await check([], { UNITS_FILE: 'infura' })).stdout).toBe(
      'networks/auth.yaml: tokens of https://issuer.example, plans free, large\n' +
        '  note: plans.free: the rate 10 is below the 80 request units of eth_getBlockByNumber: one such call in 8 s\n' +
        'networks/defaults.yaml: options of all networks\n' +
        'networks/few.yaml: Few, chain 5, 1 upstream, 1 method\n' +
        '  note: public: the rate 10 is below the 80 request units of eth_getBlockByNumber: one such call in 8 s\n',
    );
    expect((await check()).stdout).not.toContain('note');
  });

  it('notes networks of a plan that have no file', async () => {
    place.withNetworks({ few, auth: { plans: { free: { networks: ['few', 'fewer'] } } } });
    expect(await check()).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('note: plans.free: there is no network fewer; did you mean few?') },
    });
  });

  it('names what replaces a former setting', async () => {
    place.withNetworks({ few });
    const { code, stderr } = await check([], { AUTH_ISSUER: 'https://issuer.example' });
    expect(stderr).toContain('AUTH_ISSUER is no setting any more: write issuer: … in auth.yaml');
    expect(code).toBe(EX_CONFIG);
  });

  it('shows no control character of a name, and one line for it', async () => {
    const name = 'Base\x1b]0;owned\x07\n\x9b31m\u202e';
    place.withNetworks({ one: { ...base, name } });
    for (const [args, lines] of [
      [['check'], 1],
      [['networks', 'list'], 2],
    ] as const) {
      const { stdout } = await place.run([...args]);
      expect(stdout).toContain('Base\\u001b]0;owned\\u0007\\u000a\\u009b31m\\u202e');
      expect(stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
      expect(stdout.trimEnd().split('\n')).toHaveLength(lines);
    }
  });

  it('notes that public has no limits of each address or of all', async () => {
    place.withNetworks({
      one: { ...base, public: {} },
      two: { ...few, public: { daily: 5, total: { rate: 10 } } },
    });
    const { code, stdout } = await check();
    expect(code).toBe(0);
    expect(stdout.match(/^ {2}note: .*$/gm)).toEqual([
      '  note: public: without rate and daily, an address without a key has no limit on its calls',
      '  note: public: without a rate or quota in total, callers without a key may use all that upstreams allow',
    ]);
  });

  it('notes that `verify: observe` compares nothing without another upstream', async () => {
    const off = { name: 'b', url: 'https://b.example', audit: 'off' };
    const [first] = base.upstreams;
    place.withNetworks({
      one: { ...base, verify: 'observe' },
      two: { ...few, verify: { level: 'observe', share: 1 }, upstreams: [{ ...first, probe: 'off' }, off] },
    });
    expect((await check()).stdout).toBe(
      `networks/one.yaml: Base, chain 8453, 1 upstream, ${served} methods\n` +
        '  note: verify: with one upstream, observe checks only the hashes of headers\n' +
        'networks/two.yaml: Few, chain 5, 2 upstreams, 1 method\n' +
        '  2 groups: a; b\n' +
        '  note: verify: every upstream has audit: off or probe: off, so observe compares no results\n',
    );
    place.withNetworks({ one: { ...base, verify: { share: 1.5 } }, two: { ...few, audit: 0.1 } });
    expect(await check()).toMatchObject({
      code: EX_CONFIG,
      stderr: expect.stringMatching(
        /verify\.share: expected number above 0, up to 1[^]*audit is not known: write verify: \{ level: observe, share: … \}/,
      ) as string,
    });
  });

  it('prints the groups of upstreams, and notes fewer than three with `enforce` or `require`', async () => {
    const hosts = ['a.alchemy.com/v2/x', 'eth-mainnet.g.alchemy.com/v2/y', '10.0.0.5:8545', '10.0.0.6:8545'];
    const upstreams = hosts.map((host, index) => ({ name: `u${index}`, url: `http://${host}` }));
    const grouped = upstreams.map((upstream, index) => ({ ...upstream, ...(index > 1 && { group: 'own' }) }));
    place.withNetworks({
      one: { ...few, baseUrls: [], upstreams, verify: 'require' },
      two: { ...few, baseUrls: [], upstreams: grouped, verify: { level: { 'eth_*': 'enforce' } } },
    });
    expect((await check()).stdout.split('\n').filter((line) => line.startsWith('  '))).toEqual([
      '  3 groups: u0 with u1 (Alchemy); u2; u3',
      '  2 groups: u0 with u1 (Alchemy); u2 with u3 (own)',
      '  note: verify: 2 groups of upstreams; with three, one of them may fail or be wrong',
    ]);
    const unpolled = [...upstreams.slice(0, 3), { ...upstreams[3], probe: 'off' }];
    place.withNetworks({ one: { ...few, upstreams: unpolled, verify: 'require' } });
    expect((await check()).stdout).toContain('an upstream with probe: off has no known block: u3');
    for (const group of ['', 5, ' own'])
      expect(
        (place.withNetworks({ one: { ...few, upstreams: [{ ...upstreams[0], group }] } }), await check()),
      ).toMatchObject({
        code: EX_CONFIG,
        stderr: expect.stringMatching(
          /one\.yaml:\d+:\d+ upstreams\[0\]\.group: expected text of 1 to 40 letters/,
        ) as string,
      });
  });

  it('prints which upstreams may get which methods, if that differs', async () => {
    const upstreams = ['a', 'b', 'relay'].map((name) => ({ name, url }));
    const rules = [{}, { methods: ['-eth_getLogs', '-debug_trace*'] }, { methods: ['eth_send*'] }];
    place.withNetworks({
      base: {
        ...base,
        methods: ['eth', 'debug_*', '-debug_traceChain', 'eth_getCompilers'],
        upstreams: upstreams.map((upstream, index) => ({ ...upstream, ...rules[index] })),
        route: { eth_sendRawTransaction: ['relay'] },
      },
    });
    const { stdout, code } = await check();
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(1)).toEqual([
      '  1 group: a with b with relay',
      '  eth_sendRawTransaction, eth_sendRawTransactionSync: relay',
      '  eth_getCompilers, debug_*, -debug_traceChain (without schema): a, b',
      '  eth_getLogs: a',
      '  eth_sendUserOperation: a, b, relay',
      '  debug_trace*, -debug_traceChain (without schema): a',
      '  all others: a, b',
      '',
    ]);
  });

  it('prints the wildcards of development networks, which may have routes', async () => {
    const upstreams = ['a', 'b'].map((name) => ({ name, url }));
    place.withNetworks({ base: { ...base, upstreams, development: true, route: { 'anvil_*': ['a'] } } });
    const { stdout, code } = await check();
    expect(code).toBe(0);
    expect(stdout).toContain('  anvil_* (without schema): a\n');
    for (const wildcard of ['evm_*', 'hardhat_*']) expect(stdout).toContain(wildcard);
  });

  it('prints all diagnostics of all files, as `start` does', async () => {
    place.withNetworks({ base, broken, other: '- x\n' });
    const checked = await check();
    expect(checked).toMatchObject({
      code: EX_CONFIG,
      stdout: '',
      stderr:
        'networks/broken.yaml:2:10 chainId: expected whole number from 1 to 9007199254740991, not text\n' +
        'networks/broken.yaml:4:16 upstreams[0].timeout is not known: write failsafe: { timeoutMs: … }\n' +
        'networks/broken.yaml:5:21 upstreams[1].url: the environment has no KEY_OF_B; set it, or write ${KEY_OF_B:-default}\n' +
        'networks/other.yaml:1:1 the file: expected map with name, chainId and upstreams, not a list\n',
    });
    expect(await place.run(['start'])).toEqual(checked);
  });

  it('prints the diagnostics of UNITS_FILE too, as `start` does', async () => {
    place.withNetworks({ base });
    writeFileSync(join(place.folder, 'units.yaml'), 'eth_cal: 2\neth_call: 1 + blocks\n');
    const env = { UNITS_FILE: 'units.yaml' };
    const diagnostics =
      'units.yaml:1:1 eth_cal is no method of docs/reference/methods.md or of a network; did you mean eth_call?\n' +
      'units.yaml:2:11 eth_call: a method has no blocks\n';
    expect(await check([], env)).toMatchObject({ code: EX_CONFIG, stdout: '', stderr: diagnostics });
    expect(await place.run(['start'], env)).toMatchObject({ code: EX_CONFIG, stderr: diagnostics });
    place.withNetworks({ broken });
    const { stderr } = await check([], env);
    expect(stderr).toContain('networks/broken.yaml:2:10 ');
    // A method of an invalid network file is not known.
    expect(stderr).toContain('units.yaml:2:11 eth_call: a method has no blocks\n');
    expect(stderr).not.toContain('eth_cal ');
    expect(JSON.parse((await check(['--json'], env)).stdout)).toMatchObject({ ok: false, networks: [] });
  });

  it('reads NETWORKS_DIR, by default the folder that Gatehouse ships', async () => {
    place.withNetworks({ base });
    expect((await check([], { NETWORKS_DIR: './networks/' })).stdout).toMatch(/^networks\/base\.yaml: Base, /);
    const missing = await check([], { NETWORKS_DIR: 'nets' });
    expect(missing).toMatchObject({ code: EX_CONFIG, stdout: '' });
    expect(missing.stderr).toMatch(/^nets \(that is .*\/nets\): the folder of network files cannot be read/);
    const own = new CommandFolder();
    const { code, stdout } = await own.run(['check']);
    await own.close();
    expect(code).toBe(0);
    const file = join(packageRoot, 'networks/base.yaml');
    expect(stdout).toContain(`\n${file}: Base, chain 8453, 2 upstreams, ${served} methods\n`);
  });
});

describe('gatehouse check beside a running gateway', () => {
  it('reports the active configuration of the gateway at OPS_PORT', async () => {
    place.withNetworks({ base });
    const env = { OPS_PORT: String(await freePort()) };
    const { gateway } = await place.serve(env);
    expect((await check([], env)).stdout).toMatch(
      /\nthese files are active in the running gateway, loaded \d{4}-\S+Z\n$/,
    );
    place.withNetworks({ base: { ...base, chainId: 'x' } });
    await gateway.reload();
    const rejected = /\nother files are active in the running gateway, loaded \S+Z; it rejected these \d{4}-\S+Z\n$/;
    expect((await check([], env)).stderr).toMatch(rejected);
    const { running } = JSON.parse((await check(['--json'], env)).stdout) as { running: { refused: object } };
    expect(running.refused).toMatchObject({
      mistakes: [expect.stringContaining('base.yaml:1:26 chainId: expected ')],
    });
    expect(JSON.stringify(running)).not.toContain(secret);
  });
});

describe('gatehouse check --json', () => {
  it('prints the networks without secrets', async () => {
    place.withNetworks({ base, few });
    const { code, stdout, stderr } = await check(['--json']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      shared: [],
      networks: [
        {
          ...{ file: 'networks/base.yaml', slug: 'base', name: 'Base', chainId: 8453, upstreams: 1, methods: served },
          groups: ['a'],
          notes: [],
          table: [
            { methods: expect.arrayContaining(['eth_call']) as string[], upstreams: ['a'], isPassThrough: false },
            { methods: expect.arrayContaining(['eth_chainId']) as string[], upstreams: [], isPassThrough: false },
          ],
        },
        {
          ...{ file: 'networks/few.yaml', slug: 'few', name: 'Few', chainId: 5, upstreams: 1, methods: 1 },
          groups: ['a'],
          notes: [],
          table: [{ methods: ['eth_chainId'], upstreams: [], isPassThrough: false }],
        },
      ],
      mistakes: [],
    });
    expect(stdout).not.toContain('://');
  });

  it('prints diagnostics with positions on standard output, without secrets', async () => {
    place.withNetworks({ base, broken });
    const { code, stdout, stderr } = await check(['--json']);
    expect([code, stderr]).toEqual([EX_CONFIG, '']);
    const timeout = 'upstreams[0].timeout is not known: write failsafe: { timeoutMs: … }';
    const { ok, networks, mistakes: diagnostics } = JSON.parse(stdout) as Record<string, unknown>;
    expect([ok, networks]).toEqual([false, []]);
    expect(diagnostics).toEqual([
      {
        ...{ file: 'networks/broken.yaml', line: 2, column: 10 },
        message: 'chainId: expected whole number from 1 to 9007199254740991, not text',
      },
      { file: 'networks/broken.yaml', line: 4, column: 16, message: timeout },
      {
        ...{ file: 'networks/broken.yaml', line: 5, column: 21 },
        message: 'upstreams[1].url: the environment has no KEY_OF_B; set it, or write ${KEY_OF_B:-default}',
      },
    ]);
    expect(stdout).not.toContain(secret);
    expect(stdout).not.toContain('://');
  });

  it('has null for a position that does not exist', async () => {
    const missing = JSON.parse((await check(['--json'], { NETWORKS_DIR: 'nets' })).stdout) as object;
    const message = expect.stringMatching(/^nets .*: the folder of network files cannot be read/) as string;
    expect(missing).toEqual({
      ok: false,
      shared: [],
      networks: [],
      mistakes: [{ file: null, line: null, column: null, message }],
    });
    place.withNetworks({ many: `name: Many\nchainId: 1\nupstreams: []\nmethods: [${'x, '.repeat(150)}]\n` });
    const { mistakes: diagnostics } = JSON.parse((await check(['--json'])).stdout) as { mistakes: object[] };
    expect(diagnostics).toHaveLength(101);
    expect(diagnostics.at(-1)).toEqual({
      file: 'networks/many.yaml',
      line: null,
      column: null,
      message: 'and 51 more',
    });
  });
});
