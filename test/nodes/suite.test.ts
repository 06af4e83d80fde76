import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { inConversations, onGeth } from '../parity/allowed-differences.ts';
import type { AllowedDifference } from '../parity/compare-outcomes.ts';
import { httpEndpoint, openWebSocketEndpoint, type RpcEndpoint } from '../parity/rpc-endpoint.ts';
import { socketUrl } from '../server/websocket/caller.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { readTable, writeTable } from '../support/page-table.ts';
import { findGeth, GETH_VERSION } from './find-geth.ts';
import { importSuiteChain, type Geth, type SuiteChain } from './geth.ts';
import { readConversations, suiteFolder, type Conversation } from './suite/conversations.ts';
import { compareOutcomes, playSuite, type Comparison, type Outcomes } from './suite/play-suite.ts';

const allowed = [...onGeth, ...inConversations];
const page = join(packageRoot, 'docs/parity.md');
const transports = ['HTTP', 'WebSocket'] as const;
const modes = transports.flatMap((transport) => [
  { transport, isWarm: false, mode: `${transport}, cold` },
  { transport, isWarm: true, mode: `${transport}, from a warm cache` },
]);
/** A loaded machine needs seconds for a trace or a blob transaction. */
const patientTimeouts = { UPSTREAM_TIMEOUT_MS: '60000', CALL_TIMEOUT_MS: '60000' };
type Transport = (typeof transports)[number];

const knownMethods = new Map(methods.map((method) => [method.name, method]));

let conversations: readonly Conversation[];
let chain: SuiteChain;
const direct = new Map<Transport, Outcomes>();
const compared = new Map<string, Comparison>();

/** The namespaces with schemas, and all other methods of the conversations by name. */
const openedMethods = (): string[] => {
  const names = new Set(conversations.flatMap(({ exchanges }) => exchanges.map(({ method }) => method)));
  return ['eth', 'net', 'web3', ...[...names].filter((name) => !/^(eth|net|web3)_/.test(name))];
};

/** Conversations without those that send transactions or show the pool with them. */
const withoutEffects = (): Conversation[] =>
  conversations.filter(({ exchanges }) =>
    exchanges.every(({ method }) => knownMethods.get(method)?.sends !== true && !/^(txpool|testing)_/.test(method)),
  );

describe(`the conversations of execution-apis on geth ${GETH_VERSION}`, () => {
  beforeAll(async () => {
    const suite = suiteFolder();
    conversations = readConversations(suite);
    chain = importSuiteChain(findGeth(), suite);
    for (const transport of transports) {
      await onGethCopy(async (geth) => {
        const endpoint = await openEndpoint(transport, geth.url, geth.socketUrl);
        direct.set(transport, await playSuite(endpoint, conversations));
        endpoint.close();
      });
    }
  });
  afterAll(() => {
    chain.delete();
  });

  it('geth responds over WebSocket as over HTTP', () => {
    expect(direct.get('WebSocket')).toEqual(direct.get('HTTP'));
  });

  it.each(modes)('over $mode, the gateway responds as geth', async ({ transport, isWarm, mode }) => {
    const outcomes = await onGethCopy((geth) =>
      onGateway(geth, async (gateway) => {
        const endpoint = await openEndpoint(transport, gateway.url('main'), socketUrl(gateway, 'main'));
        if (isWarm) await playSuite(endpoint, withoutEffects());
        const all = await playSuite(endpoint, conversations);
        endpoint.close();
        return all;
      }),
    );
    const comparison = compareOutcomes(conversations, direct.get(transport) as Outcomes, outcomes, allowed);
    compared.set(mode, comparison);
    expect(comparison.different).toEqual([]);
  });

  it('docs/parity.md has the same tables', () => {
    const [counts, differences] = [countRows(), differenceRows()];
    if (process.env['WRITE_DOCS'] === 'yes') {
      writeTable(page, 'suite', counts, 'npm run test:all -- nodes --write');
      writeTable(page, 'differences', differences, 'npm run test:all -- nodes --write');
    }
    expect(readTable(page, 'suite')).toEqual(counts);
    expect(readTable(page, 'differences')).toEqual(differences);
  });
});

async function onGethCopy<Result>(use: (geth: Geth) => Promise<Result>): Promise<Result> {
  const geth = await chain.start();
  try {
    return await use(geth);
  } finally {
    await geth.stop();
  }
}

async function onGateway<Result>(geth: Geth, use: (gateway: TestGateway) => Promise<Result>): Promise<Result> {
  const file = network(chain.chainId, [geth.url], { methods: openedMethods() });
  const gateway = await startGateway({ main: file }, patientTimeouts);
  try {
    return await use(gateway);
  } finally {
    await gateway.stop();
  }
}

function openEndpoint(transport: Transport, url: string, ofSocket: string): Promise<RpcEndpoint> | RpcEndpoint {
  return transport === 'HTTP' ? httpEndpoint(transport, url) : openWebSocketEndpoint(transport, ofSocket);
}

function countRows(): string[][] {
  const heading = ['through the gateway', 'conversations', 'equal', 'equal but for a listed difference', 'different'];
  const rows = [...compared].map(([mode, { equal, allowed, different }]) => {
    const listed = new Set([...allowed.values()].flatMap((names) => [...names])).size;
    const others = new Set(different.map((sentence) => sentence.split(' ')[0])).size;
    return [mode, ...[conversations.length, equal, listed, others].map(String)];
  });
  return [heading, ...rows];
}

function differenceRows(): string[][] {
  const byReason = new Map<AllowedDifference, Set<string>>();
  for (const { allowed } of compared.values()) {
    for (const [row, names] of allowed) byReason.set(row, new Set([...(byReason.get(row) ?? []), ...names]));
  }
  const used = allowed.filter((row) => byReason.has(row));
  return [
    ['reason', 'conversations'],
    ...used.map((row) => [row.reason, [...(byReason.get(row) ?? [])].map((name) => `\`${name}\``).join(', ')]),
  ];
}
