import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { inLongRun } from '../support/long-run.ts';
import { readTable } from '../support/page-table.ts';
import { callsOf, cellsOf, lieTable, type LieRow } from './lie-table.ts';
import { richChain } from './rich-chain.ts';
import { simulatedNodes, type Call, type RpcResponse, type SimulatedNodes } from './simulated-nodes.ts';

const levels = ['enforce', 'require'] as const;
const chain = await richChain();
const calls = callsOf(chain);

function open(verify: string, workers = 1): Promise<SimulatedNodes> {
  return simulatedNodes(3, { verify, cache: 'off' }, chain, workers);
}

/** Rounds of lies: each has at most one lie about a method, so that each call gets one lie. */
const rounds: LieRow[][] = [];
for (const row of lieTable) {
  const methodOf = ([, call]: LieRow): string => (calls[call] as Call)[0];
  const round = rounds.find((one) => one.every((known) => methodOf(known) !== methodOf(row)));
  if (round === undefined) rounds.push([row]);
  else round.push(row);
}

it('docs/measured/verify.md has a row for each lie', () => {
  const [, ...rows] = readTable(join(packageRoot, 'docs/measured/verify.md'), 'lies');
  expect(rows).toEqual(lieTable.map(cellsOf));
});

const unprovable = ['call', 'estimate', 'gas price'];

it('results of an honest chain are proven, and none is disproved', async () => {
  const { send, disproved, truth, proofOf } = await open('enforce');
  await send('eth_blockNumber');
  for (const [name, [method, ...params]] of Object.entries(calls)) {
    const { result } = await send(method, ...params);
    expect([name, proofOf()]).toEqual([name, unprovable.includes(name) ? 'no' : expect.not.stringMatching('no')]);
    expect([name, result]).toEqual([name, truth(method, ...params) === null ? null : expect.anything()]);
  }
  for (const node of [0, 1, 2]) expect(await disproved(node)).toBe(0);
});

/** Results that callers get from honest upstreams. */
async function truths(level: string): Promise<ReadonlyMap<string, RpcResponse>> {
  const { send } = await open(level);
  await send('eth_blockNumber');
  const all = new Map<string, RpcResponse>();
  for (const [name, [method, ...params]] of Object.entries(calls)) all.set(name, await send(method, ...params));
  return all;
}

const liarsOf = [
  ['one upstream that lies', 'http', 1],
  ['two of three that tell the same lie', 'http', 2],
  ['one upstream that lies, to a batch', 'http', 1],
  ['one upstream that lies, over a WebSocket', 'websocket', 1],
  ['one upstream that lies, to each of two workers', 'workers', 1],
] as const;

describe.each(levels)('with %s', (level) => {
  it.each(inLongRun(liarsOf, liarsOf.slice(0, 2)))(
    '%s: each caller gets the truth, or what the table says',
    async (name, over, liars) => {
      const truth = await truths(level);
      const wrong: unknown[] = [];
      for (const round of rounds) {
        const nodes = await open(level, over === 'workers' ? 2 : 1);
        await nodes.sendToWorkers('eth_blockNumber');
        const returned = new Set<LieRow>();
        for (const row of round) {
          const [, call, lie] = row;
          const [method, ...params] = calls[call] as Call;
          for (let node = 0; node < liars; node++)
            nodes.lie(node, method, (result: never, sent) => {
              const text = JSON.stringify(sent);
              if (!ownParams(method, params).some((one) => text === one || isEstimate(method, one, text)))
                return result;
              returned.add(row);
              return lie(result, sent);
            });
        }
        const sent = round.map(([, call]) => calls[call] as Call);
        const ofEach = ([method, ...params]: Call): Promise<readonly RpcResponse[]> =>
          over === 'workers'
            ? nodes.sendToWorkers(method, ...params)
            : nodes.send(method, ...params).then((response) => [response]);
        const isBatch = name.includes('batch') || over === 'websocket';
        const responses = isBatch
          ? (await nodes.sendAll(sent, over === 'websocket' ? over : 'http')).map((response) => [response])
          : await Promise.all(sent.map(ofEach));
        for (const [at, row] of round.entries()) {
          const ofRow = responses[at] as readonly RpcResponse[];
          const [kind, call, , outcome = 'truth'] = row;
          const isTrue = (response: RpcResponse): boolean => same(response, truth.get(call));
          const isRight = (response: RpcResponse): boolean =>
            outcome === 'truth' || (outcome === 'null' && (liars === 1 || level === 'require'))
              ? isTrue(response)
              : outcome === 'no' && level === 'require'
                ? isTrue(response) || /\bproven\b/.test(String(response.error?.['message']))
                : response.error === undefined && !isTrue(response);
          for (const response of ofRow) {
            // Without `agree`, it is not sent.
            const isReturned = returned.has(row) || (response.error !== undefined && outcome === 'no');
            // Another worker may have chosen another upstream.
            const isOfOther = isTrue(response) && ofRow.some(isRight);
            if ((!isRight(response) && !isOfOther) || !isReturned) wrong.push([kind, isReturned, response]);
          }
        }
      }
      expect(wrong).toEqual([]);
    },
  );
});

/** Parameters of a call, as upstreams may get them: the gateway replaces tags. Polls of heads and evidence have other parameters. */
function ownParams(method: string, params: readonly unknown[]): string[] {
  const text = JSON.stringify(params);
  const { number, hash } = chain.head;
  const pinned = [JSON.stringify(number), JSON.stringify({ blockHash: hash })].map((at) =>
    text.replace('"latest"', at),
  );
  return method === 'eth_getBlockByNumber' ? pinned : [text, ...pinned];
}

/** Whether the parameters are those of an estimate, to which the gateway may add a block. */
function isEstimate(method: string, own: string, sent: string): boolean {
  return method === 'eth_estimateGas' && sent.startsWith(own.slice(0, -1));
}

function same(one: RpcResponse | undefined, other: RpcResponse | undefined): boolean {
  return JSON.stringify(one?.result) === JSON.stringify(other?.result) && one?.error === undefined;
}
