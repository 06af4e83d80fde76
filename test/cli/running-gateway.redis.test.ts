import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { runCurlLine } from '../e2e/curl.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { eventually } from '../support/eventually.ts';
import { freePort, startRedis } from '../support/redis.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';

const token = 'correct-horse-battery';

let place: CommandFolder;
let node: FakeNode;
let env: Record<string, string>;

beforeEach(async () => {
  node = await startFakeNode({ chainId: 5, responses: { eth_gasPrice: '0x10' } });
  place = new CommandFolder().withNetworks({
    main: {
      name: 'Main',
      chainId: 5,
      upstreams: [
        { name: 'away', url: 'http://127.0.0.1:1' },
        { name: 'node', url: node.url },
      ],
    },
  });
  env = { OPS_PORT: String(await freePort()), ADMIN_TOKEN: token };
});
afterEach(async () => {
  await place.close();
  await node.close();
});

describe('the commands that ask a running gateway', () => {
  it('show its state, explain a call, and drain an upstream', async () => {
    await place.serve(env);
    const status = await place.run(['status'], env);
    expect(status).toMatchObject({ code: 0, stderr: '' });
    expect(status.stdout).toMatch(/^Gateway at http:\/\/127\.0\.0\.1:\d+: ready\nKeys: in a file, available\n/);
    expect(status.stdout).toMatch(/\nNETWORK {2}UP {6}TROUBLE\nmain {5}0 of 2 {2}away, node: not contacted yet\n$/);

    const withUptime = await place.run(['status', '--uptime', '30d'], env);
    expect(withUptime.stdout).toMatch(/\nNETWORK {2}UP {6}UPTIME {2}TROUBLE\nmain {5}0 of 2 {2}- {7}away, node: /);
    expect(await place.run(['status', '--uptime', '1y'], env)).toMatchObject({
      ...{
        code: 1,
        stderr: '--uptime: expected one of 1h, 24h, 7d, 30d, 90d\n',
      },
    });

    const explained = await place.run(['explain', 'main', 'eth_gasPrice'], env);
    expect(explained.stdout).toMatch(/^eth_gasPrice on main: result, cache \w+\n\nUPSTREAM/);
    expect(explained.stdout).toMatch(/\naway +\d+ ms +transport +█+\nnode +\d+ ms +response +█+\n/);
    expect(explained.stdout).toContain('{"jsonrpc":"2.0","id":1,"result":"0x10"}\n');
    expect(explained.code).toBe(0);
    const asJson = await place.run(['explain', 'main', 'eth_gasPrice', '--json'], env);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ explanation: { network: 'main' } });

    const drained = await place.run(['upstreams', 'drain', 'main', 'away', '--for', '1h'], env);
    expect(drained.stdout).toMatch(
      /^away of main is drained until \d{4}-\d\d-\d\d \d\d:\d\dZ, in .*gatehouse\.db\.\n$/,
    );
    expect(drained.stderr).toBe('');
    const last = await place.run(['upstreams', 'drain', 'main', 'node'], env);
    expect(last).toMatchObject({
      ...{ code: 0, stderr: 'warning: no upstream of main is in service: calls that need one are 503\n' },
    });
    await place.run(['upstreams', 'undrain', 'main', 'node'], env);
    expect((await place.run(['upstreams', 'list'], env)).stdout).toMatch(
      /\nmain +away +drained .*\nmain +node +in service/,
    );
    const returned = await place.run(['upstreams', 'undrain', 'main', 'away', '--json'], env);
    expect(JSON.parse(returned.stdout)).toEqual({ network: 'main', upstream: 'away', wasDrained: true });
  }, 60_000);

  it('show why a gateway is not ready', async () => {
    const redis = await startRedis();
    onTestFinished(redis.stop);
    await place.serve({ ...env, REDIS_URL: redis.url });
    expect((await place.run(['status'], env)).stdout).toContain(': ready\nKeys: in Redis, available\n');
    await redis.kill();
    const reason = 'no key can be checked: Redis is unavailable, and no key was checked in the last KEY_STALE_MAX_S';
    let ended = await place.run(['status'], env);
    await eventually(async () => (ended = await place.run(['status'], env)).code === 1, 30_000);
    expect(ended.stderr).toBe('');
    const [state, keys] = ended.stdout.split('\n');
    expect(state).toMatch(/^Gateway at http:\/\/127\.0\.0\.1:\d+: not ready: /);
    expect(state?.endsWith(`: not ready: ${reason}`)).toBe(true);
    expect(keys).toBe('Keys: in Redis, unavailable');
    const asJson = await place.run(['status', '--json'], env);
    expect([asJson.code, JSON.parse(asJson.stdout)]).toMatchObject([1, { ready: false, reason, draining: false }]);
  }, 60_000);

  it('list what failed and for how long, of a time and a network', async () => {
    const { OPS_PORT = '' } = env;
    const reader = { OPS_PORT, ADMIN_TOKENS: `viewer:read:${token}-2` };
    await place.serve({ ...env, ...reader });
    const { stdout, stderr, code } = await place.run(['events', '--since', '1h'], reader);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(stdout).toMatch(/^BEGAN +KIND +NETWORK +UPSTREAM +LASTED +TIMES +WHAT\n/);
    expect(stdout).toMatch(/\n\d{4}-\d\d-\d\d \d\d:\d\dZ +gateway +- +- +- +1 +/);
    const asJson = await place.run(['events', '--json'], env);
    expect(JSON.parse(asJson.stdout)).toContainEqual(expect.objectContaining({ kind: 'gateway', count: 1 }));
    expect(await place.run(['events', '--network', 'other'], env)).toMatchObject({ code: 0, stdout: 'No events.\n' });
    expect(await place.run(['events'], { OPS_PORT, ADMIN_TOKEN: `${token}-3` })).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(/^the gateway rejects the request: .*token/) as string,
    });
  }, 60_000);

  it.each<[string[], Record<string, string>, number, RegExp]>([
    [['events'], {}, 69, /^no gateway responds at http:\/\/127\.0\.0\.1:\d+: is it running/],
    [['events'], { ADMIN_TOKEN: '' }, 78, /^ADMIN_TOKEN: expected the token of the gateway, or one of any role/],
    [['events', '--since', 'ever'], {}, 1, /^--since: expected a duration/],
    [['status'], {}, 69, /^no gateway responds at http:\/\/127\.0\.0\.1:\d+: is it running/],
    [['status', '--url', 'nowhere'], {}, 78, /^--url: expected the address of a gateway/],
    [['explain', 'main', 'eth_gasPrice'], { ADMIN_TOKEN: '' }, 78, /^ADMIN_TOKEN: expected the token of the gateway/],
    [['upstreams', 'drain', 'mian', 'node'], {}, 1, /^there is no network mian; did you mean main\?/],
    [['upstreams', 'drain', 'main', 'nod'], {}, 1, /^main has no upstream nod; did you mean node\?/],
    [['upstreams', 'drain', 'main', 'node', '--for', 'ever'], {}, 1, /^--for: expected a duration/],
  ])('%j with %j ends with %i and one line', async (args, more, code, line) => {
    const ended = await place.run(args, { ...env, ...more });
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toMatch(line);
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('other commands for operators', () => {
  it('list networks without their URLs', async () => {
    expect((await place.run(['networks', 'list'])).stdout).toBe(
      'SLUG  CHAIN  NAME  UPSTREAMS\nmain  5      Main  away, node\n',
    );
    const { stdout } = await place.run(['networks', 'list', '--json']);
    expect(JSON.parse(stdout)).toEqual([
      { slug: 'main', name: 'Main', chainId: 5, baseUrls: [], upstreams: ['away', 'node'] },
    ]);
  });

  it('add a network with the upstreams of providers, and their variables to the file of secrets', async () => {
    const secrets = join(place.folder, 'gateway.env');
    writeFileSync(secrets, 'ALCHEMY_KEY=mine\n');
    const { stdout, code } = await place.run(['networks', 'add', '8453', '--provider', 'alchemy,drpc', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ files: ['networks/base.yaml', 'gateway.env'], variables: ['DRPC_KEY'] });
    expect(readFileSync(join(place.folder, 'networks/base.yaml'), 'utf8')).toContain("key: '${DRPC_KEY}'");
    expect(readFileSync(secrets, 'utf8')).toBe('ALCHEMY_KEY=mine\nDRPC_KEY=\n');
    const again = await place.run(['networks', 'add', '10', '--provider', 'alchemy']);
    expect(again.stdout).toContain('gateway.env has all its variables already.');
    expect((await place.run(['networks', 'add', '10', '--provider', 'alchmy'])).stderr).toContain(
      'did you mean alchemy?',
    );
  });

  it('create the file of secrets for its owner only', async () => {
    await place.run(['networks', 'add', '8453', '--provider', 'alchemy']);
    expect(statSync(join(place.folder, 'gateway.env')).mode & 0o777).toBe(0o600);
  });

  it('show the uptimes of other networks if one is removed meanwhile', async () => {
    const network = { upstreams: 1, up: 1, failing: {} };
    const configuration = { digest: '', loadedAt: '', refused: null };
    const readiness = { ready: true, keyStore: {}, configuration, networks: { removed: network, main: network } };
    const server = createServer(({ url = '' }, response) => {
      response.statusCode = url.startsWith('/removed') ? 404 : 200;
      response.end(JSON.stringify(url === '/readyz' ? readiness : { uptime: 0.5 }));
    });
    await new Promise<void>((resolve) => server.listen(Number(env['OPS_PORT']), '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { code, stdout } = await place.run(['status', '--uptime', '30d', '--json'], env);
    expect([code, JSON.parse(stdout)]).toEqual([0, { ...readiness, uptime: { main: 0.5 } }]);
  });

  it('create a key with its URL and a line that calls it', async () => {
    const gateway = await place.serve();
    const { port } = new URL(gateway.address);
    const { stdout } = await place.run(['keys', 'create', '--name', 'alice', '--team', 'acme'], { PORT: port });
    const [, url = ''] = /^URL: (\S+)$/m.exec(stdout) ?? [];
    expect(url).toMatch(new RegExp(`^${gateway.address}/main/v3/gh_\\w{32}$`));
    const line = stdout.trim().split('\n').at(-1) ?? '';
    expect(line).toContain(url);
    expect(await runCurlLine(line)).toMatchObject({ result: '0x5' });
    const created = await place.run(['keys', 'create', '--name', 'bob', '--json'], { PORT: port });
    expect(JSON.parse(created.stdout)).toMatchObject({ url: expect.stringContaining('/main/v3/') as string });
    const team = await place.run(['keys', 'list', '--team', 'acme', '--json']);
    expect((JSON.parse(team.stdout) as { name: string }[]).map(({ name }) => name)).toEqual(['alice']);
    expect(await place.run(['keys', 'list', '--team', 'none'])).toMatchObject({ code: 1, stdout: '' });
    const { id } = JSON.parse(created.stdout) as { id: string };
    expect((await place.run(['keys', 'update', id, '--name', 'robert'])).stdout).toBe(
      `Key ${id} has the name robert.\n`,
    );
    expect(JSON.parse((await place.run(['keys', 'show', id, '--json'])).stdout)).toMatchObject({ name: 'robert' });
  }, 60_000);
});
