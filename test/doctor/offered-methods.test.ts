import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Diagnosis, NetworkFindings } from '../../gateway/doctor/diagnose.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { hang } from '../support/behaviours.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';

const missing = rpcError(-32_602, 'missing value for required argument 0');
/** Methods of the spec that the doctor tests. */
const ofSpec = {
  eth_blockNumber: '0x10',
  eth_getBalance: '0x0',
  eth_getLogs: [],
  eth_getBlockReceipts: [],
  eth_getUncleCountByBlockNumber: '0x0',
  eth_getProof: {},
  eth_createAccessList: {},
  eth_feeHistory: {},
  eth_blobBaseFee: '0x1',
};

let place: CommandFolder;
let geth: FakeNode;
let erigon: FakeNode;

async function startNode(responses: Record<string, unknown>): Promise<FakeNode> {
  const timestamp = `0x${Math.floor(Date.now() / 1000).toString(16)}`;
  const eth_getBlockByNumber = { number: '0x10', gasLimit: '0x1', timestamp };
  return startFakeNode({ chainId: 5, responses: { ...ofSpec, eth_getBlockByNumber, ...responses } });
}

beforeEach(async () => {
  place = new CommandFolder();
  geth = await startNode({
    rpc_modules: { eth: '1.0', debug: '1.0', net: '1.0' },
    debug_traceTransaction: missing,
    debug_traceCall: missing,
    debug_getRawBlock: missing,
    eth_callMany: missing,
    // Not in rpc_modules.
    trace_block: missing,
  });
  erigon = await startNode({
    trace_block: missing,
    trace_filter: missing,
    eth_getTransactionBySenderAndNonce: missing,
    debug_traceCall: missing,
    eth_getProof: rpcError(-32_601, 'the method eth_getProof does not exist/is not available'),
  });
});
afterEach(async () => {
  await place.close();
  await Promise.all([geth, erigon].map((node) => node.close()));
});

const file = (): string => join(place.folder, 'networks/five.yaml');

async function examine(...args: string[]): Promise<NetworkFindings> {
  const { stdout, stderr } = await place.run(['doctor', '--json', ...args]);
  expect(stderr).toBe('');
  return (JSON.parse(stdout) as Diagnosis).networks[0] as NetworkFindings;
}

const twoUpstreams = (...more: object[]): object[] => [
  { name: 'geth', url: geth.url, ...more[0] },
  { name: 'erigon', url: erigon.url, ...more[1] },
];

describe('the methods that gatehouse doctor finds', () => {
  it('are offered as YAML, which check accepts, and after which nothing more is offered', async () => {
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams: twoUpstreams() } });
    const { upstreams, offer = '' } = await examine();
    expect(upstreams.map(({ methods }) => methods?.others)).toEqual([
      ['eth_callMany', 'debug_traceTransaction', 'debug_traceCall', 'debug_getRawBlock'],
      ['eth_getTransactionBySenderAndNonce', 'debug_traceCall', 'trace_block', 'trace_filter'],
    ]);
    expect(offer).toBe(
      'methods: [eth, net, rpc, web3, eth_callMany, debug_traceTransaction, debug_traceCall, debug_getRawBlock, ' +
        'eth_getTransactionBySenderAndNonce, trace_block, trace_filter]\n' +
        'upstreams:\n' +
        '  - name: geth\n    methods: { deny: [eth_getTransactionBySenderAndNonce, trace_block, trace_filter] }\n' +
        '  - name: erigon\n    methods: { deny: [eth_getProof, eth_callMany, debug_traceTransaction, debug_getRawBlock] }\n',
    );
    const offered = parse(offer) as { methods: string[]; upstreams: { name: string; methods: object }[] };
    const network = parse(readFileSync(file(), 'utf8')) as { upstreams: { name: string }[] };
    const merged = network.upstreams.map((upstream) => ({
      ...upstream,
      ...offered.upstreams.find(({ name }) => name === upstream.name),
    }));
    writeFileSync(file(), stringify({ ...network, methods: offered.methods, upstreams: merged }));
    const checked = await place.run(['check']);
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    expect(checked.stdout).toContain(
      '  eth_getTransactionBySenderAndNonce, trace_block, trace_filter (without schema): erigon\n',
    );
    expect((await examine()).offer).toBeUndefined();
  });

  it('are in the text output', async () => {
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams: twoUpstreams() } });
    const { stdout } = await place.run(['doctor']);
    expect(stdout).toContain('\n  What these upstreams have, for five.yaml:\n    methods: [eth, net, ');
    expect(stdout).toContain('\n      - name: geth\n        methods: { deny: [');
  });

  it('keep the wildcards and rules of the file, and are without what all upstreams lack', async () => {
    const rules = { methods: { allow: ['eth_*', 'net_*', 'web3_*', 'trace_*'], deny: ['trace_get*'] } };
    geth.response('eth_getProof', rpcError(-32_601, 'the method eth_getProof does not exist/is not available'));
    place.withNetworks({
      five: {
        ...{ name: 'Five', chainId: 5, upstreams: twoUpstreams({}, rules) },
        methods: ['eth', 'net', 'web3', 'trace_*', '-trace_get'],
      },
    });
    const { offer } = await examine();
    expect(offer).toContain('methods: [eth, -eth_getProof, net, ');
    expect(offer).toContain("'trace_*', -trace_get]\n");
    // They are opened by the wildcard.
    expect(offer?.split('\n')[0]).not.toMatch(/trace_(?:block|filter)/);
    expect(offer).toContain("allow: ['eth_*', 'net_*', 'web3_*', 'trace_*'], deny: ['trace_get*', ");
    expect(erigon.calls.filter(({ method }) => method.startsWith('debug_'))).toEqual([]);
  });

  it('are without those of development networks, which production would serve by name', async () => {
    place.withNetworks({
      five: { name: 'Five', chainId: 5, development: true, upstreams: twoUpstreams() },
    });
    const { offer } = await examine();
    expect(offer).toMatch(/^methods: \[eth, -eth_accounts, net, rpc, web3, -web3_clientVersion, eth_callMany/);
    expect(offer?.split('\n')[0]).not.toMatch(/sign|sendTransaction/i);
  });

  it('are not searched at an upstream that permits only transactions', async () => {
    const relay = { methods: { allow: ['eth_sendRawTransaction'] } };
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams: twoUpstreams({}, relay) } });
    const { upstreams } = await examine();
    expect(upstreams[1]?.problems).toEqual([]);
    expect(upstreams[1]?.notes).toEqual(['only its chain id is tested: its methods exclude eth_getBlockByNumber']);
    expect(new Set(erigon.calls.map(({ method }) => method))).toEqual(new Set(['eth_chainId']));
  });

  it('are none if a node returns no error about unknown methods', async () => {
    for (const method of ['debug_gatehouseNoSuchMethod', 'trace_block']) erigon.response(method, null);
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams: [{ name: 'erigon', url: erigon.url }] } });
    const { upstreams } = await examine();
    expect(upstreams[0]?.methods?.others).toEqual([]);
  });

  it('are not denied at an upstream whose request for one timed out', async () => {
    erigon.always(hang, 'debug_traceTransaction');
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams: twoUpstreams() } });
    const { offer } = await examine('--limit', '4');
    expect(offer).toContain('debug_traceTransaction');
    expect(offer).toMatch(/name: erigon\n {4}methods: \{ deny: \[(?!.*debug_traceTransaction)/);
  });

  it.each([
    [
      'returns no error about unknown methods',
      (): void => {
        erigon.response('debug_gatehouseNoSuchMethod', null);
      },
    ],
    [
      'does not respond to the search in time',
      (): void => {
        erigon.always(hang, 'debug_gatehouseNoSuchMethod');
      },
    ],
  ])('are denied at an upstream that %s', async (_, change) => {
    change();
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams: twoUpstreams() } });
    const { offer } = await examine('--limit', '4');
    expect(offer).toMatch(
      /name: erigon\n {4}methods: \{ deny: \[eth_getProof, eth_callMany, debug_traceTransaction, debug_traceCall, debug_getRawBlock\]/,
    );
  });

  it('are no problem if the search takes too long', async () => {
    erigon.always(hang, 'trace_block');
    place.withNetworks({ five: { name: 'Five', chainId: 5, upstreams: [{ name: 'erigon', url: erigon.url }] } });
    const { upstreams } = await examine('--limit', '2');
    expect(upstreams[0]?.problems).toEqual([]);
    expect(upstreams[0]?.methods?.others).toContain('debug_traceCall');
  });
});
