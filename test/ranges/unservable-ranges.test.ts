import { expect, it } from 'vitest';
import { shiftClock } from '../routing/with-nodes.ts';
import { hex, listOf, LogChain } from './log-chain.ts';
import { errorIn, responseWith, withLogNodes } from './with-log-nodes.ts';

const TEN_MINUTES_MS = 600_000;
const rejection = (to: number): object => ({
  code: -32005,
  message: `the upstreams allow only parts of the range, and it has more than 1000; fromBlock 0x0 and toBlock ${hex(to)} would fit`,
});

it('a range of more than 1,000 parts is rejected without a request once the width of its parts is known', async () => {
  const chain = new LogChain(2_000_000, () => 0);
  const { getLogs, ranges } = await withLogNodes(chain, [{ maxBlocks: 10 }]);
  const sent = (): number => ranges()[0]?.length ?? 0;
  expect(errorIn(await getLogs(0, 1_999_999))).toEqual(rejection(9_999));
  // The range, refused parts down to 20 blocks, and the first one of 10.
  const learned = sent();
  expect(learned).toBeLessThanOrEqual(20);
  expect(errorIn(await getLogs(0, 1_999_999))).toEqual(rejection(9_999));
  expect(errorIn(await getLogs(0, 'latest'))).toEqual(rejection(9_999));
  expect(errorIn(await getLogs(5, 10_000))?.message).toContain('fromBlock 0x5 and toBlock 0x270f would fit');
  expect(sent()).toBe(learned);
  expect((await getLogs(5, 9_999)).text).toBe(responseWith([]));
  expect(sent()).toBe(learned + 1_000);
});

it('a batch of 50 such ranges is rejected, each with its widest range, and the next one without a request', async () => {
  const chain = new LogChain(2_000_000, () => 0);
  const { gateway, ranges } = await withLogNodes(chain, [{ maxBlocks: 10 }]);
  const sendBatch = async (): Promise<void> => {
    const calls = Array.from({ length: 50 }, (_, id) => {
      const params = [{ fromBlock: hex(id), toBlock: hex(1_900_000 + id) }];
      return { jsonrpc: '2.0', id, method: 'eth_getLogs', params };
    });
    const response = await gateway.post('test', JSON.stringify(calls));
    const returned = (await response.json()) as { readonly id: number; readonly error: { readonly message: string } }[];
    expect(response.status).toBe(200);
    for (const { id, error } of returned)
      expect(error).toMatchObject({
        code: -32005,
        message: expect.stringContaining(`toBlock ${hex(id - (id % 10) + 9_999)} would fit`),
      });
    expect(returned).toHaveLength(50);
  };
  await sendBatch();
  const learned = ranges()[0]?.length ?? 0;
  // As many as one call after the other needs at most.
  expect(learned).toBeLessThanOrEqual(50 * 20);
  await sendBatch();
  expect(ranges()[0]).toHaveLength(learned);
});

it('after ten minutes it is sent once: the upstream may allow more then', async () => {
  const clock = shiftClock({ isRunning: true });
  const chain = new LogChain(2_000_000, () => 0);
  const { getLogs, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 10 }]);
  await getLogs(0, 1_999_999);
  const learned = ranges()[0]?.length ?? 0;
  clock.forward(TEN_MINUTES_MS);
  for (let call = 0; call < 3; call++) expect(errorIn(await getLogs(0, 1_999_999))).toEqual(rejection(9_999));
  expect(ranges()[0]?.slice(learned)).toEqual([[0, 1_999_999]]);
  nodes[0]?.response('eth_getLogs', ([filter]: [object]) => listOf(chain, { maxBlocks: 5_000 }, filter));
  // A range that has 1,000 parts is sent as before: its parts become as wide as the upstream allows.
  expect((await getLogs(0, 9_999)).text).toBe(responseWith([]));
  expect((await getLogs(0, 1_999_999)).text).toBe(responseWith([]));
});

it('a range that another upstream allows is served', async () => {
  const chain = new LogChain(2_000_000, () => 0);
  const { getLogs, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 10 }, { maxBlocks: 10 }]);
  expect(errorIn(await getLogs(0, 1_999_999))).toEqual(rejection(9_999));
  nodes[1]?.response('eth_getLogs', []);
  const other = await withLogNodes(chain, [{ maxBlocks: 10 }, {}]);
  for (let call = 0; call < 2; call++) expect((await other.getLogs(0, 1_999_999)).text).toBe(responseWith([]));
  expect(ranges().flat().length).toBeLessThanOrEqual(40);
});

it('a range whose parts become narrower when most of them have arrived is served', async () => {
  const chain = new LogChain(50_000, () => 0);
  const { getLogs, nodes, ranges } = await withLogNodes(chain, [{ maxBlocks: 100 }]);
  let returned = 0;
  nodes[0]?.response('eth_getLogs', ([filter]: [object]) =>
    listOf(chain, { maxBlocks: returned++ < 450 ? 100 : 20 }, filter),
  );
  // Of 20 blocks, the range has 2,500 parts, and what is left of it fewer than 300.
  expect((await getLogs(0, 49_999)).text).toBe(responseWith([]));
  expect(ranges()[0]?.length).toBeGreaterThan(600);
});

it('too many results are no reason: a filter may have fewer elsewhere', async () => {
  const chain = new LogChain(200_000, (block) => (block < 100 ? 50 : 0));
  const { getLogs } = await withLogNodes(chain, [{ maxResults: 100 }]);
  for (let call = 0; call < 2; call++) expect((await getLogs(0, 199_999)).status).toBe(200);
  expect(errorIn(await getLogs(0, 199_999))).toBeUndefined();
});
