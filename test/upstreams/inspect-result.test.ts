import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openLog } from '../../gateway/config/log.ts';
import { inspectIfDue } from '../../gateway/upstreams/inspect-result.ts';
import { jsonResponse, type UpstreamResponse } from '../../gateway/upstreams/transport/upstream-response.ts';
import type { Upstream } from '../../gateway/upstreams/upstream.ts';

const result = `0x${'60'.repeat(150_000)}`;
const text = JSON.stringify(result);
const parts = [Buffer.from(text.slice(0, 100_000)), Buffer.from(text.slice(100_000))] as const;

it.each<[string, UpstreamResponse, number]>([
  ['a small result', { kind: 'result', result: '0x60', text: '"0x60"' }, 1],
  ['a large result', jsonResponse('[]'), 1],
  ['a result above 250 kB', { kind: 'result', result, text }, 0],
  ['a result of unknown length', { kind: 'result', result }, 0],
  ['a large result above 250 kB in parts', { ...jsonResponse(text), parts }, 0],
])('a result is checked by its size: %s', async (_, response, times) => {
  let checks = 0;
  const upstream = { name: 'own', sampler: { takeIfDue: () => true } } as unknown as Upstream;
  const checkResult = (): undefined => {
    checks++;
  };
  inspectIfDue(upstream, 'eth_getCode', response, 0, { checkResult, log: openLog('silent') });
  await nextTurn();
  expect(checks).toBe(times);
});
