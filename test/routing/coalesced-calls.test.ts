import { expect, it } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { Account } from '../../gateway/admission/account.ts';
import { RpcError } from '../../gateway/jsonrpc/errors.ts';
import { CoalescedCalls } from '../../gateway/call/coalesce.ts';
import { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';
import { eventually } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { shiftClock } from './with-nodes.ts';

it('the other participants are settled even if sending the call again fails', async () => {
  const coalesced = new CoalescedCalls({ view: { epoch: 1 } }, () => undefined);
  const from = clock.now();
  let requests = 0;
  const send = (): Promise<never> => {
    if (++requests > 1) throw new RpcError('overloaded');
    return scenarioPause(60).then(() => {
      throw new RpcError('no-upstream');
    });
  };
  const participants = [60, 40_000, 30_000, 60].map((ms) => ({ deadline: from + ms, caller: new Cancellation() }));
  const outcomes = await Promise.allSettled(
    participants.map((participant) => coalesced.request('call', participant, send)),
  );
  const reasons = outcomes.map((one) => (one.status === 'rejected' ? (one.reason as RpcError).reason : 'result'));
  expect(reasons).toEqual(['no-upstream', 'overloaded', 'overloaded', 'no-upstream']);
});

it('a call that joined one beyond the memory share of another key is sent again', async () => {
  const calls = new CoalescedCalls({ view: { epoch: 1 } }, () => undefined);
  const accounts: (string | undefined)[] = [];
  const [greedyKey, otherKey] = [new Account('greedy'), new Account('other')];
  const request = (owner: Account): Promise<unknown> => {
    const participant = { deadline: clock.now() + 60_000, caller: new Cancellation(), owner };
    return calls.request('call', participant, async ({ cancellation }) => {
      accounts.push(cancellation.owner?.name);
      await Promise.resolve();
      if (cancellation.owner === greedyKey) throw new RpcError('memory-share');
      return { kind: 'result', result: '0x1' };
    });
  };
  const [greedy, same, other] = await Promise.allSettled([greedyKey, greedyKey, otherKey].map(request));
  expect(greedy).toMatchObject({ reason: { reason: 'memory-share' } });
  expect(same).toMatchObject({ reason: { reason: 'memory-share' } });
  expect(other).toMatchObject({ value: { result: '0x1' } });
  expect(accounts).toEqual(['greedy', 'other']);
});

it('calls that joined more than 100 ms after the start are sent once more after no-upstream, together', async () => {
  const time = shiftClock();
  const calls = new CoalescedCalls({ view: { epoch: 1 } }, () => undefined);
  const failures: (() => void)[] = [];
  const send = (): Promise<never> =>
    new Promise((_, reject) => {
      failures.push(() => {
        reject(new RpcError('no-upstream'));
      });
    });
  const results: string[] = [];
  const request = (name: string): void => {
    const participant = { deadline: clock.now() + 60_000, caller: new Cancellation() };
    calls.request('call', participant, send).catch(() => results.push(name));
  };
  request('first');
  time.forward(100);
  request('early');
  time.forward(1);
  for (const name of ['late', 'late too']) request(name);
  failures[0]?.();
  await eventually(() => failures.length > 1);
  expect(results).toEqual(['first', 'early']);
  time.forward(500);
  request('later');
  failures[1]?.();
  await eventually(() => failures.length > 2);
  // The repeat is not repeated.
  expect(results).toEqual(['first', 'early', 'late', 'late too']);
  failures[2]?.();
  await eventually(() => results.length === 5);
  expect(failures).toHaveLength(3);
});
