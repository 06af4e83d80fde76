import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { reassignConnections } from '../../gateway/workers/reassign-connections.ts';
import { simulateTime } from '../support/simulate-time.ts';

const time = simulateTime();

/** A worker's process, as node:cluster uses it: it accepts no connection until `accept`. */
class FakeProcess extends EventEmitter {
  /** Numbers of the connections that were sent, and of those that node:cluster gives to another worker. */
  readonly sent: number[] = [];
  readonly declined: number[] = [];
  isSilent = false;

  constructor() {
    super();
    reassignConnections(
      { process: this } as never,
      () => this.isSilent,
      () => true,
    );
    this.on('internalMessage', ({ ack, accepted }: { ack: number; accepted: boolean }) => {
      if (!accepted) this.declined.push(ack);
    });
  }

  send = ({ seq }: { readonly seq: number }): boolean => {
    this.sent.push(seq);
    return true;
  };

  connect(seq: number): void {
    this.send({ cmd: 'NODE_CLUSTER', act: 'newconn', seq } as never);
  }

  accept(ack: number): void {
    this.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: true });
  }
}

it('a worker that does not accept a connection gets no other one, until it accepts that one', async () => {
  const worker = new FakeProcess();
  worker.connect(1);
  await time().advance(200);
  worker.connect(2);
  expect(worker.sent).toEqual([1, 2]);
  await time().advance(1);
  worker.connect(3);
  expect(worker.sent).toEqual([1, 2]);
  await time().advance(10);
  expect(worker.declined).toEqual([3]);
  worker.accept(1);
  worker.accept(2);
  worker.connect(4);
  expect(worker.sent).toEqual([1, 2, 4]);
});

it('a worker that sends nothing gets no connection', async () => {
  const worker = new FakeProcess();
  worker.isSilent = true;
  worker.connect(1);
  await time().advance(10);
  expect([worker.sent, worker.declined]).toEqual([[], [1]]);
});

it('what a worker that ends has not accepted goes to another one, each connection once', async () => {
  const worker = new FakeProcess();
  worker.connect(1);
  worker.isSilent = true;
  worker.connect(2);
  worker.emit('exit');
  await time().advance(1_000);
  expect(worker.declined.sort()).toEqual([1, 2]);
});
