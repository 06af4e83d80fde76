import { expect, it } from 'vitest';
import { ChainPeers, chainTopics, type ChainMessage } from '../../gateway/chain/chain-peers.ts';
import { parseBlock } from '../../gateway/chain/header.ts';
import type { WorkerLink } from '../../gateway/workers/worker-link.ts';
import { simulateTime } from '../support/simulate-time.ts';
import { linkedWorkers } from '../workers/linked-workers.ts';
import { ScriptedChain, type ScriptedBlock } from './scripted-chain.ts';
import { follow, type Followed } from './with-heads.ts';

const time = simulateTime();

/** Pollers of one network in workers of one machine, whose upstream does not respond: the test reports its heads. */
async function inWorkers(count: number) {
  const { workers, links } = await linkedWorkers(count);
  const followed = links.map((link): Followed => {
    const own = follow([{ url: 'http://127.0.0.1:1' }], { peers: new ChainPeers(link, 'test', 7) });
    link.on(chainTopics.event, ({ event }: ChainMessage) => {
      own.poller.received(event);
    });
    return own;
  });
  const seen = (block: ScriptedBlock): void => {
    const event = { kind: 'seen', upstream: 'node-0', block: parseBlock(block) as never } as const;
    for (const { poller } of followed) poller.received({ ...event, by: 'notification', sentMsAgo: 0 });
  };
  const areCurrent = (): Promise<unknown> => Promise.all(links.map((link) => Promise.resolve(link.whenCurrent())));
  const serve = (number: bigint, more: object = {}): Promise<void> | undefined => {
    const { poller, upstreams } = followed[0] as Followed;
    const sentAt = time().now();
    poller.served(upstreams[0] as never, { number }, sentAt, { by: 'response', sentAt, ...more });
    return poller.whenShared();
  };
  return { workers, links, followed, seen, areCurrent, serve };
}

/** Whether the promise has resolved, at each read. */
function watched(promise: Promise<unknown> | undefined): () => boolean {
  let hasResolved = false;
  void promise?.then(() => (hasResolved = true));
  return () => hasResolved;
}

it('a served block is known to all other workers before its response is sent', async () => {
  const { workers, followed, areCurrent, serve } = await inWorkers(3);
  await areCurrent();
  workers.stop(3);
  const isShared = watched(serve(101n));
  await time().advance(99);
  expect(followed.map(({ poller }) => poller.view.newestServed)).toEqual([101n, 101n, 0n]);
  expect(isShared()).toBe(false);
  workers.go(3);
  await time().advance(0);
  expect(isShared()).toBe(true);
  expect(followed.map(({ poller }) => poller.view.newestServed)).toEqual([101n, 101n, 101n]);
  expect(followed[0]?.poller.whenShared()).toBeUndefined();
});

it('the hashes of served lookups are known to all other workers before the responses are sent, in one message each time', async () => {
  const { workers, followed, areCurrent, links } = await inWorkers(2);
  await areCurrent();
  const [{ poller }, other] = followed as [Followed, Followed];
  let announcements = 0;
  const { requestOthers } = links[0] as WorkerLink;
  (links[0] as WorkerLink).requestOthers = (...sent) => {
    announcements++;
    return requestOthers.apply(links[0], sent);
  };
  const lookUp = (hash: string): (() => boolean) => {
    poller.servedHash(hash, { number: 1n, hash: '0xblock' }, time().now());
    return watched(poller.whenShared());
  };
  const known = (): unknown[] =>
    ['0x1', '0x2', '0x3'].map((hash) => other.poller.view.servedBlockOf(hash, time().now()));
  workers.stop(2);
  const isFirst = lookUp('0x1');
  await time().advance(0);
  const areNext = ['0x2', '0x3', '0x1'].map(lookUp);
  await time().advance(0);
  expect([isFirst(), ...areNext.map((is) => is())]).toEqual([false, false, false, false]);
  workers.go(2);
  await time().advance(0);
  expect([isFirst(), ...areNext.map((is) => is())]).toEqual([true, true, true, true]);
  expect(known()).toEqual(['0xblock', '0xblock', '0xblock']);
  expect(announcements).toBe(2);
  // A second response with the same object.
  lookUp('0x3');
  expect(poller.whenShared()).toBeUndefined();
});

it('a hash that one worker serves again and again is known to the others for 30 s after each time', async () => {
  for (const intervalMs of [10_000, 29_000]) {
    const { followed, areCurrent } = await inWorkers(2);
    const [{ poller }, other] = followed as [Followed, Followed];
    await areCurrent();
    const isKnown: boolean[] = [];
    for (let served = 0; served < 20; served++) {
      poller.servedHash('0x1', { number: 1n, hash: '0xblock' }, time().now());
      void poller.whenShared();
      await time().advance(intervalMs);
      isKnown.push(other.poller.view.servedBlockOf('0x1', time().now()) === '0xblock');
    }
    await time().advance(29_999 - intervalMs);
    isKnown.push(other.poller.view.servedBlockOf('0x1', time().now()) === '0xblock');
    expect(isKnown).toEqual(isKnown.map(() => true));
  }
});

it('a worker that starts learns the served hashes, and sends one that it serves itself', async () => {
  const { followed, areCurrent, links } = await inWorkers(3);
  const [first, second] = followed as [Followed, Followed];
  const serve = ({ poller }: Followed): void => {
    poller.servedHash('0x1', { number: 1n, hash: '0xblock' }, time().now());
    void poller.whenShared();
  };
  const blockOf = ({ poller }: Followed): unknown => poller.view.servedBlockOf('0x1', time().now());
  await areCurrent();
  serve(first);
  await time().advance(80_000);
  const starts = follow([{ url: 'http://127.0.0.1:1' }], { peers: new ChainPeers(links[2] as WorkerLink, 'test', 7) });
  for (const event of first.poller.state) starts.poller.received(structuredClone(event));
  expect(blockOf(starts)).toBe('0xblock');
  serve(starts);
  await time().advance(29_999);
  expect(blockOf(second)).toBe('0xblock');
});

it('a served block waits 100 ms at most for a worker that hangs, and the blocks after it do not wait for it', async () => {
  const { workers, areCurrent, serve, links } = await inWorkers(2);
  await areCurrent();
  await time().advance(40);
  workers.stop(2);
  const isShared = watched(serve(101n));
  await time().advance(59);
  expect(isShared()).toBe(false);
  await time().advance(1);
  expect(isShared()).toBe(true);
  const isNextShared = watched(serve(102n));
  await time().advance(0);
  expect(isNextShared()).toBe(true);
  // When it continues, it knows them before it is current, and others wait for it again.
  const isCurrent = watched(links[1]?.whenCurrent());
  await time().advance(1_000);
  expect(isCurrent()).toBe(false);
  workers.go(2);
  await time().advance(0);
  expect(isCurrent()).toBe(true);
  await areCurrent();
  workers.stop(2);
  const isWaitedFor = watched(serve(103n));
  await time().advance(99);
  expect(isWaitedFor()).toBe(false);
});

it('a worker is current for 100 ms, and requests it again before that ends', async () => {
  const { workers, links } = await linkedWorkers(2);
  const link = links[1];
  await link?.whenCurrent();
  await time().advance(49);
  expect(link?.whenCurrent()).toBeUndefined();
  workers.stop(2);
  await time().advance(50);
  expect(link?.whenCurrent()).toBeUndefined();
  await time().advance(1);
  expect(link?.whenCurrent()).toBeInstanceOf(Promise);
});

it('a served block is not waited for in a worker that ends', async () => {
  const { workers, areCurrent, serve } = await inWorkers(2);
  await areCurrent();
  workers.stop(2);
  const isShared = watched(serve(101n));
  workers.end(2);
  await time().advance(0);
  expect(isShared()).toBe(true);
});

it('a served block of safe or finalized is known in all workers, too', async () => {
  const { followed, areCurrent, serve, seen } = await inWorkers(2);
  seen(new ScriptedChain().head);
  await areCurrent();
  await serve(99n, { tag: 'finalized' });
  expect(followed[1]?.poller.view.newestOf('finalized')).toBe(99n);
  expect(followed[1]?.poller.view.newestOf('safe')).toBe(-1n);
});

it('subscribers get a block when all current workers know that it is served', async () => {
  const { workers, followed, areCurrent, seen } = await inWorkers(2);
  const chain = new ScriptedChain();
  const [{ poller, changes, watch }] = followed as [Followed];
  const watching = watch();
  seen(chain.head);
  await time().advance(0);
  await watching;
  await areCurrent();
  const before = changes.length;
  workers.stop(2);
  seen(chain.mine());
  await time().advance(99);
  expect(poller.view.number).toBe(chain.number);
  expect(changes.length).toBe(before);
  workers.go(2);
  await time().advance(0);
  expect(changes.length).toBe(before + 1);
  expect(followed[1]?.poller.view.newestServed).toBe(chain.number);
  seen(chain.mine());
  await time().advance(100);
  expect(changes.length).toBe(before + 2);
});

it('a node that starts again from genesis is followed in all workers, also after a block of which only the number was known', async () => {
  const { followed, areCurrent, seen, serve } = await inWorkers(2);
  const chain = new ScriptedChain({ from: 0 });
  const wiped = chain.copy();
  const watching = followed[1]?.watch();
  seen(chain.head);
  await time().advance(0);
  await watching;
  await areCurrent();
  for (let mined = 0; mined < 5; mined++) seen(chain.mine());
  await serve(chain.number + 1n);
  // The watchers of the second worker get the new branch before either worker has confirmed that the chain is shorter.
  for (let mined = 0; mined < 4; mined++) {
    await time().advance(1_000);
    seen(wiped.mine());
  }
  await time().advance(0);
  const known = followed.map(({ poller: { view } }) => [view.number, view.newestServed]);
  expect(known).toEqual([
    [wiped.number, wiped.number],
    [wiped.number, wiped.number],
  ]);
});

it('a worker whose chain has become shorter learns no former head from the served hashes of one that still has it', async () => {
  const { followed, areCurrent, seen, serve } = await inWorkers(2);
  const [first, second] = followed as [Followed, Followed];
  const chain = new ScriptedChain({ from: 0 });
  const block = parseBlock(chain.copy().mine()) as never;
  seen(chain.head);
  await areCurrent();
  for (let mined = 0; mined < 5; mined++) seen(chain.mine());
  await serve(5n);
  second.poller.received({ kind: 'seen', upstream: 'node-0', block, by: 'notification', sentMsAgo: 0 });
  expect([second.poller.view.number, second.poller.view.newestServed]).toEqual([1n, 1n]);
  first.poller.servedHash('0x1', { number: 5n, hash: '0xblock' }, time().now());
  await first.poller.whenShared();
  expect(second.poller.view.servedBlockOf('0x1', time().now())).toBe('0xblock');
  expect(second.poller.view.newestServed).toBe(1n);
});
