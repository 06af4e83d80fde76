import { expect, it, onTestFinished } from 'vitest';
import { clock } from '../../gateway/clock/clock.ts';
import { slow } from '../support/behaviours.ts';
import { ElasticClock } from '../support/elastic-clock.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode } from '../support/fake-node.ts';
import { network, startGateway } from '../support/gateway.ts';

/** Blocks the process for this real time, in which it uses no CPU: as if other processes had it. */
function starve(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function openClock(): ElasticClock {
  const elastic = new ElasticClock();
  onTestFinished(() => {
    elastic.stop();
  });
  return elastic;
}

it('no deadline passes in a process that gets no CPU', async () => {
  const elastic = openClock();
  const startedAt = elastic.now();
  let hasPassed = false;
  elastic.setTimeout(() => (hasPassed = true), 300);
  for (let turn = 0; turn < 5; turn++) {
    starve(300);
    await new Promise(setImmediate);
  }
  expect(hasPassed).toBe(false);
  expect(elastic.now() - startedAt).toBeLessThan(300);
  await eventually(() => hasPassed);
  expect(elastic.now() - startedAt).toBeGreaterThanOrEqual(300);
});

it('late timers fire in the order of their times, and the time does not decrease', async () => {
  const elastic = openClock();
  const fired: number[] = [];
  const times: number[] = [];
  for (const ms of [35, 5, 25, 15]) {
    elastic.setTimeout(() => {
      fired.push(ms);
      times.push(elastic.now());
    }, ms);
  }
  starve(200);
  times.push(elastic.now());
  await eventually(() => fired.length === 4);
  expect(fired).toEqual([5, 15, 25, 35]);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

it('the time stands still when it is stopped, except where it is moved', async () => {
  const elastic = openClock();
  elastic.stop();
  const startedAt = elastic.now();
  const fired: number[] = [];
  for (const ms of [1_000, 2_000]) elastic.setTimeout(() => fired.push(ms), ms);
  starve(50);
  expect(elastic.now()).toBe(startedAt);
  await elastic.advance(1_500);
  expect([elastic.now(), ...fired]).toEqual([startedAt + 1_500, 1_000]);
});

it('a gateway and a scripted node in a starved process keep the order of their times', async () => {
  const node = await startFakeNode({ chainId: 5, responses: { eth_getStorageAt: `0x${'0'.repeat(64)}` } });
  const upstreams = [{ name: 'node', url: node.url, batch: false }];
  const failsafe = { eth_getStorageAt: { timeoutMs: 400 } };
  const gateway = await startGateway({ main: network(5, [node.url], { upstreams, failsafe }) });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  // A second of real time is over before the node's 200 ms, and so would be the deadline of 400 ms.
  const starving = clock.setInterval(() => {
    starve(150);
  }, 20);
  onTestFinished(() => {
    clock.clearInterval(starving);
  });
  node.always(slow(200), 'eth_getStorageAt');
  const params = [`0x${'11'.repeat(20)}`, '0x0', 'latest'];
  expect(await gateway.call('main', 'eth_getStorageAt', params)).toMatchObject({ result: `0x${'0'.repeat(64)}` });
  expect(node.callsOf('eth_getStorageAt')).toHaveLength(1);
});
