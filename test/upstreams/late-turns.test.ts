import { expect, it, onTestFinished } from 'vitest';
import { Random } from '../../bench/random.ts';
import { MemoryNode } from '../../bench/simulation/memory-node.ts';
import { openLog } from '../../gateway/config/log.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { turnBudget } from '../../gateway/event-loop/turn-budget.ts';
import { MemoryBudget } from '../../gateway/memory/memory-budget.ts';
import { Reservation } from '../../gateway/memory/reservation.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { TimedOut } from '../../gateway/upstreams/transport/upstream-response.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { configOf } from '../network-files/load.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { ownLimits } from '../support/own-limits.ts';

const simulated = simulateTime();
const REST_MS = 2_000;

it('a call whose large response waits for a turn ends at its deadline, and gives back the bytes', async () => {
  const time = simulated();
  const respondTo = ({ id, method }: { readonly id: unknown; readonly method: string }) => {
    const result = method === 'eth_chainId' ? '0x5' : `0x${'00'.repeat(20_000)}`;
    return { jsonrpc: '2.0', id, result };
  };
  const node = new MemoryNode(1, { respondTo }, new Random(1));
  const [config] = configOf('test', { chainId: 5, upstreams: [{ name: 'one', url: 'http://127.0.0.1:1' }] }).upstreams;
  if (config === undefined) throw new Error('the network has no upstream');
  const upstream = new Upstream(config, config, {
    chainId: 5,
    shared: ownLimits(),
    transport: node,
    defaultTimeoutMs: 20_000,
    metrics: new Metrics().upstreamMetrics('test', 'one'),
    log: openLog('silent'),
  });
  onTestFinished(() => upstream.close());
  const memory = new MemoryBudget({ requestsMax: 10, maxBytes: 1e9 });
  const send = (ms: number) => {
    const reservation = new Reservation(memory);
    return upstream.send('eth_getCode', '["0x1","latest"]', { deadline: clock.now() + ms, reservation });
  };
  expect(await time.advanceUntil(send(20_000))).toMatchObject({ kind: 'large' });

  // A long piece of its work, beside another owner: it must rest.
  turnBudget.charge('other', 1);
  time.cpuMs = () => Number.MAX_SAFE_INTEGER;
  turnBudget.charge('upstream one', REST_MS);
  const late = send(REST_MS / 4);
  await expect(time.advanceUntil(late)).rejects.toBeInstanceOf(TimedOut);
  expect(memory.bytes).toBe(0);
  await time.advance(REST_MS);
});
