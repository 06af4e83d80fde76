import { expect, it } from 'vitest';
import { checkLogs } from '../../gateway/verify/check-logs.ts';
import type { Evidence, Work } from '../../gateway/verify/evidence/evidence.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';

const hash = (digit: number): string => `0x${String(digit).repeat(64)}`;
const address = `0x${'a'.repeat(40)}`;
const log = (block: number, index: number): object => ({
  ...{ address, topics: [], data: '0x01', removed: false },
  ...{ blockNumber: `0x${block}`, blockHash: hash(block), transactionHash: hash(9), transactionIndex: '0x0' },
  logIndex: `0x${index}`,
});
/** Two logs in each of the blocks 1 and 2. */
const [first, second, third, fourth] = [log(1, 0), log(1, 1), log(2, 0), log(2, 1)];
const logsOf: Readonly<Record<string, readonly unknown[]>> = { [hash(1)]: [first, second], [hash(2)]: [third, fourth] };
/** @param byHash the logs that the upstream returns for block 2 by its hash; undefined: none @param head of the network */
function evidenceWith(byHash: readonly unknown[] | undefined, head: bigint): Evidence {
  return {
    view: { head: { number: head } },
    async *headers() {
      for (const number of [2, 1]) {
        const header = { number: `0x${number}`, hash: hash(number), logsBloom: `0x${'ff'.repeat(256)}` };
        yield await Promise.resolve([{ ...header, timestamp: '0x64' }]);
      }
    },
    block: () => Promise.resolve({}),
    receipts: (block: string) => Promise.resolve([{ logs: logsOf[block] }]),
    logsOf: (filter: object) => {
      expect(filter).toEqual({ blockHash: hash(2), address, topics: [] });
      return Promise.resolve(byHash);
    },
  } as unknown as Evidence;
}

it.each([
  ['in the order of the chain', [first, second, third, fourth], undefined, 'proven'],
  ['of which a block is before an earlier one', [third, fourth, first, second], undefined, 'disproved'],
  ['of which a block is inside another one', [first, third, fourth, second], undefined, 'disproved'],
  [
    'of which two of one block are exchanged, also by its hash',
    [first, second, fourth, third],
    [fourth, third],
    'disproved',
  ],
  ['without those of the last block, also by its hash', [first, second], [], 'disproved'],
  [
    'without those of the last block, which the upstream has by its hash',
    [first, second],
    [third, fourth],
    'other-branch',
  ],
  ['without those of the last block, which the upstream does not have', [first, second], undefined, 'other-branch'],
  ['of which one has no block', [first, { ...second, blockNumber: null }, third, fourth], undefined, 'unknown'],
  ['of which one has no number', [first, { ...second, blockNumber: 'x' }, third, fourth], undefined, 'unknown'],
  ['of which one has no topics', [first, { ...second, topics: null }, third, fourth], undefined, 'unknown'],
  [
    'of which one has no transaction',
    [first, { ...second, transactionHash: null }, third, fourth],
    undefined,
    'unknown',
  ],
  ['with the time of its block', [first, second, third, { ...fourth, blockTimestamp: '0x64' }], undefined, 'proven'],
  [
    'with another time, also by its hash',
    [first, second, third, { ...fourth, blockTimestamp: '0x65' }],
    [third, { ...fourth, blockTimestamp: '0x65' }],
    'disproved',
  ],
  ['without those of an old block', [first, second], [third, fourth], 'disproved', 200n],
])('a list of logs %s', async (_, result, byHash, kind, head = 2n) => {
  const evidence = evidenceWith(byHash, head);
  const method = methods.find(({ name }) => name === 'eth_getLogs');
  const work = { deadline: Infinity, caller: new Cancellation() } as unknown as Work;
  const params = [{ fromBlock: '0x1', toBlock: '0x2', address, topics: [] }];
  const finding = await checkLogs({ method: method as NonNullable<typeof method>, params, result, work, evidence });
  expect(finding.kind).toBe(kind);
});

it('the bits of a filter of 19,990 addresses are computed in steps, between which other work runs', async () => {
  const addresses = Array.from({ length: 19_990 }, (_, at) => `0x${at.toString(16).padStart(40, '0')}`);
  const method = methods.find(({ name }) => name === 'eth_getLogs');
  const work = { deadline: Infinity, caller: new Cancellation(), owner: 'many addresses' } as unknown as Work;
  const params = [{ fromBlock: '0x1', toBlock: '0x2', address: addresses }];
  const evidence = evidenceWith(undefined, 2n);
  let turns = 0;
  const countTurn = (): void => {
    turns++;
    ticking = setImmediate(countTurn);
  };
  let ticking = setImmediate(countTurn);
  const finding = await checkLogs({ method: method as NonNullable<typeof method>, params, result: [], work, evidence });
  clearImmediate(ticking);
  expect(finding.kind).toBe('proven');
  expect(turns).toBeGreaterThan(2);
});
