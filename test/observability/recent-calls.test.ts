import { expect, it } from 'vitest';
import { RpcError } from '../../gateway/jsonrpc/errors.ts';
import { RecentCalls } from '../../gateway/observability/recent-calls.ts';
import { ShownParams } from '../../gateway/observability/shown-params.ts';
import { simulateTime } from '../support/simulate-time.ts';

simulateTime();

it('the newest of failures in one millisecond come first', () => {
  const calls = new RecentCalls(new ShownParams('off'));
  for (const id of ['k1', 'k2', 'k3', 'k4']) {
    calls.addRejection({ requestId: id, key: { id, name: id } }, new RpcError('rate-limit'));
  }
  expect(calls.find({}, 3).map(({ key }) => key)).toEqual(['k4', 'k3', 'k2']);
});
