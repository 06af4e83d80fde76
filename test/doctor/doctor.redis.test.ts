import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../gateway/doctor/diagnose.ts';
import { hang, status } from '../support/behaviours.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode, type FakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { network } from '../support/gateway.ts';
import { startRedis } from '../support/redis.ts';
import type { Ran } from '../support/run-command.ts';

const head = 0x30000;
const secret = 'S3cretOfAProvider';
const now = (): string => `0x${Math.floor(Date.now() / 1000).toString(16)}`;

let place: CommandFolder;
let node: FakeNode;
let socketNode: FakeWebSocketNode;

beforeAll(async () => {
  socketNode = await startFakeWebSocketNode(5);
});
beforeEach(async () => {
  place = new CommandFolder();
  node = await startFakeNode({ chainId: 5 });
  node.response('eth_getBlockByNumber', () => ({
    number: `0x${head.toString(16)}`,
    gasLimit: '0x1',
    timestamp: now(),
  }));
  node.response('eth_blockNumber', `0x${head.toString(16)}`);
  node.response('eth_getBalance', '0x0');
  node.response('eth_getLogs', []);
});
afterEach(async () => {
  await place.close();
  await node.close();
});
afterAll(() => socketNode.stop());

const doctor = (env: Record<string, string> = {}, ...args: string[]): Promise<Ran> =>
  place.run(['doctor', ...args], env);
const diagnosisOf = ({ stdout }: Ran): Diagnosis => JSON.parse(stdout) as Diagnosis;
/** Findings about the only upstream. */
async function examined(env: Record<string, string> = {}) {
  const ended = await doctor(env, '--json');
  const found = diagnosisOf(ended).networks[0]?.upstreams[0];
  return { code: ended.code, ...found };
}

describe('gatehouse doctor', () => {
  it('reports the findings about a working upstream and about Redis', async () => {
    const redis = await startRedis();
    const websocketUrl = `${socketNode.url}/${secret}`;
    const upstreams = [{ name: 'ours', url: `${node.url}/v2/${secret}`, websocketUrl }];
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams } });
    const ended = await doctor({ REDIS_URL: redis.url }, '--json');
    await redis.stop();
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    expect(ended.stdout).not.toContain(secret);
    expect(ended.stdout).not.toContain('127.0.0.1');
    const { ok, networks, redis: ofRedis } = diagnosisOf(ended);
    expect(ok).toBe(true);
    expect(networks).toEqual([
      {
        ...{ slug: 'five', name: 'Five', chainId: 5 },
        upstreams: [
          {
            ...{ name: 'ours', addresses: 1, chainId: 5, history: 'all', problems: [], notes: [] },
            head: { number: head, ageS: expect.any(Number) as number },
            latencyMs: expect.any(Number) as number,
            webSocketMs: expect.any(Number) as number,
          },
        ],
      },
    ]);
    expect(ofRedis).toMatchObject({
      version: expect.stringMatching(/^\d+\./) as string,
      persistence: 'none',
      problems: [],
    });
  });

  it('prints a table, without colours unless on a terminal, and the same for `check --live`', async () => {
    place.withNetworks({ five: network(5, [node.url], { methods: ['eth_getLogs'] }) });
    const { code, stdout, stderr } = await doctor();
    expect([code, stderr]).toEqual([0, '']);
    const [title, columns, row, , last] = stdout.split('\n');
    expect(title).toBe('Test 5 (five), chain 5');
    expect(columns?.trim().split(/\s{2,}/)).toEqual([
      'UPSTREAM',
      'TLS',
      'HEAD',
      'AGE',
      'LATENCY',
      'STATE',
      'WEBSOCKET',
    ]);
    expect(row).toMatch(/^✓ {2}node-0 {4}- {4}196608 {2}\d+ s {2,}[\d.]+ ms {2,}archive {2}-$/);
    expect(last).toBe('No problems.');
    const live = await place.run(['check', '--live']);
    expect([live.code, live.stdout.split('\n')[0]]).toEqual([0, title]);
  });

  it('exits with 1 and reports the chain id if the upstream has another chain', async () => {
    place.withNetworks({ six: network(6, [node.url]) });
    const { code, stdout } = await doctor();
    expect(code).toBe(1);
    expect(stdout).toContain('\n  node-0: its chain id is 5, not 6\n');
    expect(stdout).toContain('\n1 of 1 have problems.\n');
  });

  it('prints the error of a node without secrets and control characters', async () => {
    node.response('eth_chainId', rpcError(-32000, `\u001b[2Jinvalid api key ${secret} at https://me.example/x`));
    place.withNetworks({ five: network(5, [`${node.url}/${secret}`]) });
    expect(await examined()).toMatchObject({
      code: 1,
      problems: [expect.stringMatching(/^eth_chainId: -32000 +\[2Jinvalid api key <upstream> at <url> \(unknown\)$/)],
    });
  });

  it.each([
    ['refuses connections', (): Promise<void> => node.refuse(), 'eth_chainId: ECONNREFUSED (transport)'],
    [
      'returns HTML',
      (): void => {
        node.always(status(502), 'eth_chainId');
      },
      /^eth_chainId: .*\(transport\)$/,
    ],
  ])('reports that a node %s', async (_, arrange, problem) => {
    await arrange();
    place.withNetworks({ five: network(5, [node.url]) });
    const { code, problems } = await examined();
    expect(code).toBe(1);
    expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
  });

  it('reports the depth of the available state and an old head', async () => {
    node.response('eth_getBalance', ([, block]: [string, string]) =>
      Number(block) < head - 1_000 ? rpcError(-32000, 'missing trie node') : '0x0',
    );
    node.response('eth_getBlockByNumber', {
      number: `0x${head.toString(16)}`,
      gasLimit: '0x1',
      timestamp: '0x65000000',
    });
    place.withNetworks({ five: network(5, [node.url]) });
    const { code, history, notes } = await examined();
    expect([code, history]).toEqual([0, 1_000]);
    expect(notes).toEqual([expect.stringMatching(/^its newest block is \d+ min old$/)]);
  });

  it('reports an upstream that is behind, and a WebSocket that does not open', async () => {
    const late = await startFakeNode({ chainId: 5 });
    late.response('eth_getBlockByNumber', () => ({
      number: '0x10',
      gasLimit: '0x1',
      timestamp: `0x${(Math.floor(Date.now() / 1000) - 300).toString(16)}`,
    }));
    const upstreams = [
      { name: 'late', url: late.url },
      { name: 'good', url: node.url, websocketUrl: 'ws://127.0.0.1:1' },
    ];
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams } });
    const { networks } = diagnosisOf(await doctor({}, '--json'));
    await late.close();
    const [first, second] = networks[0]?.upstreams ?? [];
    expect(first?.notes).toEqual([expect.stringMatching(/^(300|301|299) s behind the others$/)]);
    expect(second?.problems).toEqual([expect.stringMatching(/^WebSocket: eth_chainId: /)]);
  });

  it('ends at its timeout and reports the findings so far', async () => {
    node.always(hang, 'eth_getBalance');
    place.withNetworks({ five: network(5, [node.url]) });
    const ended = await doctor({}, '--json', '--limit', '1');
    const { ok, networks } = diagnosisOf(ended);
    expect([ended.code, ok, networks[0]?.upstreams[0]?.head?.number]).toEqual([1, false, head]);
    expect(networks[0]?.upstreams[0]?.problems).toEqual(['some tests did not finish within 1 s']);
  });

  it('exits with 78 for an invalid file or setting', async () => {
    place.withNetworks({ five: { name: 'Five' } });
    expect(await doctor()).toMatchObject({
      code: 78,
      stdout: '',
      stderr: expect.stringContaining('networks/five.yaml:') as string,
    });
    place.withNetworks({ five: network(5, [node.url]) });
    expect(await doctor({ REDIS_URL: 'http://x' })).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('REDIS_URL') as string,
    });
  });

  it('reports that Redis is unreachable', async () => {
    place.withNetworks({ five: network(5, [node.url]) });
    const ended = await doctor({ REDIS_URL: 'redis://me:hush@127.0.0.1:1' }, '--limit', '1');
    expect([ended.code, ended.stderr]).toEqual([1, '']);
    expect(ended.stdout).toContain('\n✗ Redis\n  Redis: it is unreachable (ECONNREFUSED)\n');
    expect(ended.stdout).not.toContain('hush');
  });
});

describe('gatehouse doctor on TLS', () => {
  it('reports the days until a certificate expires, and an untrusted certificate', async () => {
    const file = (name: string): string => join(place.folder, name);
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const keyOf = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file('key.pem')];
    execFileSync('openssl', ['req', '-x509', ...keyOf, '-out', file('cert.pem'), '-days', '5', ...subject], {
      stdio: 'ignore',
    });
    const cert = { key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem')) };
    const server = createServer(cert, (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { id } = JSON.parse(body) as { id: number };
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: '0x5' }));
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const writeUpstream = (options: object): void => {
      const upstreams = [{ name: 'ours', url: `https://127.0.0.1:${port}`, ...options }];
      place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams, methods: ['eth_chainId'] } });
    };
    writeUpstream({ tls: { ca: file('cert.pem') } });
    const trusted = await examined();
    writeUpstream({});
    const untrusted = await examined();
    server.close();
    expect(trusted).toMatchObject({ tlsDays: 4, chainId: 5, notes: ['its certificate expires in 4 days'] });
    expect(untrusted).toMatchObject({
      code: 1,
      problems: ['its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    });
  });
});
