import { describe, expect, it } from 'vitest';
import { clock } from '../../../gateway/clock/clock.ts';
import { Verifier } from '../../../gateway/verify/verifier.ts';
import { AuditRequests } from '../../../gateway/verify/evidence/audit-requests.ts';
import { CallRecord } from '../../../gateway/observability/call-record.ts';
import { Differences } from '../../../gateway/observability/differences.ts';
import { openLog } from '../../../gateway/config/log.ts';
import { removeSeries } from '../../../gateway/metrics/series.ts';
import { PermittedUpstreams } from '../../../gateway/routing-policy/permitted-upstreams.ts';
import { methods } from '../../../gateway/spec/methods.generated.ts';
import type { MethodSpec } from '../../../gateway/spec/method-spec.ts';
import type { Upstream } from '../../../gateway/upstreams/upstream.ts';
import { ScriptedChain } from '../../chain/scripted-chain.ts';
import { withHeads } from '../../chain/with-heads.ts';
import { configOf } from '../../network-files/load.ts';
import { hang } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';

const balance = methods.find(({ name }) => name === 'eth_getBalance') as MethodSpec;
const params = [`0x${'ab'.repeat(20)}`, { blockHash: `0x${'cd'.repeat(32)}` }];

async function withRequests() {
  const chain = new ScriptedChain();
  const all = await withHeads([chain, chain.copy()]);
  const [upstream, second] = all.upstreams as [Upstream, Upstream];
  // Whatever the load of the machine.
  for (const one of all.upstreams) one.config = { ...one.config, failsafe: { '*': { timeoutMs: 30_000 } } };
  const permitted = new PermittedUpstreams(
    configOf('test', { upstreams: all.upstreams.map(({ name }) => ({ name, url: 'https://one.example' })) }),
    all.upstreams,
  );
  const requests = new AuditRequests(all.upstreams, permitted);
  const [node] = all.nodes;
  node?.response('eth_getBalance', '0x1');
  const count = (): number => node?.calls.filter(({ method }) => method !== 'eth_chainId').length ?? 0;
  const sendBoth = (deadline: number) =>
    Promise.all([
      requests.send(upstream, balance, params, deadline),
      requests.blockHash(upstream, chain.number, deadline),
    ]);
  return { ...all, chain, upstream, second, permitted, requests, count, sendBoth };
}

describe('an audit', () => {
  it('sends reads, and requests for the hash of a block', async () => {
    const { chain, count, sendBoth } = await withRequests();
    const found = await sendBoth(clock.now() + 30_000);
    expect(found).toMatchObject([{ kind: 'result', result: '0x1' }, chain.head.hash]);
    expect(count()).toBe(2);
  });

  it('sends none of them to an upstream that gets no audits, or after its deadline', async () => {
    const { upstream, count, sendBoth } = await withRequests();
    const later = clock.now() + 30_000;
    upstream.config = { ...upstream.config, audit: 'off' };
    expect(await sendBoth(later)).toEqual([undefined, undefined]);
    upstream.config = { ...upstream.config, audit: 'on' };
    expect(await sendBoth(clock.now())).toEqual([undefined, undefined]);
    expect(count()).toBe(0);
  });

  it('that ends after its network was removed leaves no series', async () => {
    const { upstream, second, permitted, nodes, poller, metrics } = await withRequests();
    const verifier = new Verifier({
      hasAudits: true,
      metrics: metrics.networkMetrics('test'),
      request: () => Promise.resolve(undefined),
      sendToOther: () => Promise.resolve(undefined),
      upstreams: [upstream, second],
      permitted,
      chain: poller,
      differences: new Differences(undefined),
      log: openLog('silent'),
    });
    nodes[1]?.always(hang, 'eth_getBalance');
    const audits: Promise<unknown>[] = [];
    const record = new CallRecord(balance.name, 'test');
    record.audits = audits;
    verifier.observe(upstream, { method: balance, params, record }, { kind: 'result', result: '0x1' }, 1);
    await eventually(() => nodes[1]?.callsOf('eth_getBalance').length === 1);
    verifier.close();
    removeSeries(metrics.registry, { network: 'test' });
    await Promise.all(audits);
    const page = await metrics.registry.metrics();
    expect([audits.length, page]).toEqual([1, expect.not.stringMatching(/gatehouse_audits.*network="test"/)]);
    expect([upstream.audits, second.audits]).toEqual([undefined, undefined]);
  });
});
