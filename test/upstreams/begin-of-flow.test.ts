import { onTestFinished, expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { clock } from '../../gateway/clock/clock.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { HttpUpstream } from '../../gateway/upstreams/transport/http-upstream.ts';
import { Upstream } from '../../gateway/upstreams/upstream.ts';
import { configOf } from '../network-files/load.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { ownLimits } from '../support/own-limits.ts';

const method = 'debug_traceTransaction';
/** More than is held back because of a bound. */
const trace = ['x'.repeat(1_500_000)];

it.each([
  ['flows', true, false],
  ['is collected if a hedge was sent while its first bytes were read', true, true],
  ['is collected if it may not begin', false, false],
])('a large result %s', async (_, mayBegin, isHedged) => {
  const node = await startFakeNode({ chainId: 5 });
  node.response(method, trace);
  node.always(({ response, text }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(text.slice(0, 1_200_000), () => response.end(text.slice(1_200_000)));
  }, method);
  const [config] = configOf('test', { chainId: 5, upstreams: [{ name: 'one', url: node.url }] }).upstreams;
  if (config === undefined) throw new Error('the network has no upstream');
  const upstream = new Upstream(config, config, {
    chainId: 5,
    shared: ownLimits(),
    transport: new HttpUpstream({ url: node.url, connections: 1, headers: {}, responseMaxBytes: 10_000_000 }),
    defaultTimeoutMs: 20_000,
    metrics: new Metrics().upstreamMetrics('test', 'one'),
    log: openLog('silent'),
  });
  onTestFinished(async () => {
    await upstream.close();
    await node.close();
  });
  const flow = { maxBytes: 5_000_000, mayBegin: () => mayBegin, isHedged: () => isHedged };
  const response = await upstream.send(method, '[]', { deadline: clock.now() + 20_000, flow });
  expect(response.kind === 'flowing').toBe(mayBegin && !isHedged);
  if (response.kind === 'flowing') response.result.cancel();
  if (response.kind === 'large') expect(Buffer.concat(response.parts).toString()).toContain(JSON.stringify(trace));
});
