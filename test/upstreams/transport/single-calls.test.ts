import { expect, it } from 'vitest';
import { heldHttp, type HeldNode } from '../../routing/held-node.ts';
import { postTo, readAt } from '../../routing/two-keys.ts';
import { openRaw, post } from '../../server/http/raw-connection.ts';
import { eventually } from '../../support/eventually.ts';

/** The number of calls in each request to the node. */
const sizes = (held: HeldNode): number[] => held.arrived().map((positions) => positions.split(',').length);
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const batchOf = (from: number, to: number): object[] => range(from, to).map((position) => readAt(position));
const untilArrived = (held: HeldNode, calls: number): Promise<number> =>
  eventually(() => held.arrived().join().split(',').length === calls, 50_000);

function releaseAll(held: HeldNode): void {
  held.arrived().forEach(held.release);
}

/** Writes the requests at once on one connection, so that the gateway reads them in one turn of its event loop. */
async function pipeline({ gateway }: HeldNode, bodies: readonly object[]): Promise<void> {
  const raw = await openRaw(gateway.gateway.port);
  const { pathname } = new URL(gateway.url('main'));
  raw.send(bodies.map((body) => post(pathname, JSON.stringify(body))).join(''));
}

it('single calls that arrive at once are sent upstream singly', async () => {
  const held = await heldHttp({});
  await pipeline(held, batchOf(1, 2));
  await untilArrived(held, 2);
  expect(held.arrived()).toEqual(['1', '2']);
  releaseAll(held);
});

it('a client’s batch of 25 lookups is sent upstream as batches of at most 10', async () => {
  const held = await heldHttp({});
  const responding = postTo(held.gateway.url('main'), batchOf(1, 25));
  await untilArrived(held, 25);
  expect(held.arrived().join().split(',').map(Number)).toEqual(range(1, 25));
  expect(Math.max(...sizes(held))).toBeLessThanOrEqual(10);
  expect(sizes(held).length).toBeLessThan(25);
  releaseAll(held);
  const responses = (await (await responding).json()) as { id: number; result?: unknown }[];
  expect(responses.map(({ id, result }) => [id, typeof result])).toEqual(range(1, 25).map((id) => [id, 'string']));
});

it('batches of two clients’ requests are not joined', async () => {
  const held = await heldHttp({});
  await pipeline(held, [batchOf(1, 3), batchOf(4, 6)]);
  await untilArrived(held, 6);
  for (const positions of held.arrived()) expect(positions).not.toMatch(/3,4/);
  releaseAll(held);
});

it('200 concurrent calls of one key are sent at once: none waits for the response to another one', async () => {
  const held = await heldHttp({});
  const responding = range(1, 200).map((position) => postTo(held.gateway.url('main'), readAt(position)));
  await untilArrived(held, 200);
  releaseAll(held);
  for (const response of await Promise.all(responding)) expect(await response.text()).toContain('"result"');
});
